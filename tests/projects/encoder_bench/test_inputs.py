"""Inputs of a load: texts, JSON Lines, images."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from matrix_benchmarking.errors import MatbenchError
from projects.encoder_bench.inputs import Input, InputsError, InputsFile, digest, read_inputs, read_source, write_inputs
from projects.encoder_bench.load import Load


def test_a_text_file_has_a_text_a_line(tmp_path):
    (tmp_path / "texts.txt").write_text("one\n\n  two words \r\nthree\u2028still three\n")
    texts = [each.input for each in read_inputs(tmp_path / "texts.txt")]
    assert texts == ["one", "two words", "three\u2028still three"]


def test_images_become_data_uris_with_the_label_of_their_directory(tmp_path):
    (tmp_path / "cat").mkdir()
    (tmp_path / "cat" / "a.PNG").write_bytes(b"png")
    (tmp_path / "b.jpg").write_bytes(b"jpg")
    (tmp_path / "notes.md").write_text("")
    assert read_inputs(tmp_path) == [
        Input("data:image/jpeg;base64,anBn"),
        Input("data:image/png;base64,cG5n", "cat"),
    ]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.txt", "", "are empty"),
        ("a.txt", b"\xff", "not UTF-8"),
        ("a.jsonl", "{}\n", r"a\.jsonl:1: is not of the form"),
        ("a.jsonl", '{"input": "x"}\n{', r"a\.jsonl:2: is not JSON"),
        pytest.param("a.jsonl", "[" * 100_000, r"a\.jsonl:1: is not JSON", id="deep"),
        ("a.jsonl", '{"input": "x", "label": 3}', "write it in quotes"),
        ("a.jsonl", "[]", "is not of the form"),
        ("a.png", "x", "give the directory"),
    ],
)
def test_inputs_that_cannot_be_used_are_a_sentence(tmp_path, name, content, sentence):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputsError, match=sentence):
        read_inputs(path)


def test_missing_inputs_and_an_empty_directory_are_sentences(tmp_path):
    with pytest.raises(InputsError, match="can't be read"):
        read_inputs(tmp_path / "absent.txt")
    with pytest.raises(InputsError, match="are empty"):
        read_inputs(tmp_path)


@given(st.lists(st.tuples(st.text(min_size=1), st.none() | st.text()), min_size=1, max_size=10))
def test_what_is_written_for_k6_is_what_was_read(tmp_path_factory, pairs):
    inputs = [Input(text, label) for text, label in pairs]
    path = tmp_path_factory.mktemp("inputs") / "inputs.jsonl"
    write_inputs(inputs, path)
    assert read_inputs(path) == inputs
    assert digest(read_inputs(path)) == digest(inputs)
    assert len([json.loads(line) for line in path.read_bytes().split(b"\n") if line]) == len(inputs)


ROWS = [('Fine, "really"', "joy"), ("two\nlines", "anger"), ("", "joy"), ("über", None)]


def written(path: Path) -> Path:
    frame = pandas.DataFrame([{"text": text or None, "mood": mood, "rest": 3} for text, mood in ROWS])
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    elif path.suffix == ".parquet":
        frame.to_parquet(path, index=False)
    else:
        rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
        path.write_text(json.dumps(rows) if path.suffix == ".json" else "\n".join(map(json.dumps, rows)))
    return path


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.jsonl", "a.json"])
def test_a_column_of_a_dataset_is_read_with_its_labels(tmp_path, name):
    path = written(tmp_path / name)
    wanted = [Input(text, mood) for text, mood in ROWS if text]
    assert read_inputs(path, "text", "mood") == wanted
    assert read_source(InputsFile(file=name, column="text"), tmp_path) == [Input(each.input) for each in wanted]


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.jsonl", "a.json"])
def test_a_wrong_column_is_a_sentence_with_those_that_are_there(tmp_path, name):
    path = written(tmp_path / name)
    for column, label, missing in [("txet", None, "txet"), ("text", "laber", "laber"), (None, None, "input")]:
        with pytest.raises(InputsError, match=f"it has no column '{missing}', but text, mood, rest$"):
            read_inputs(path, column, label)


def test_images_of_a_dataset_become_data_uris(tmp_path):
    rows = [{"image": {"bytes": b"\x89PNG1", "path": None}}, {"image": {"bytes": b"\xff\xd8\xff2", "path": "x"}}]
    pandas.DataFrame(rows).to_parquet(tmp_path / "a.parquet")
    assert [each.input[:15] for each in read_inputs(tmp_path / "a.parquet", "image")] == [
        "data:image/png;", "data:image/jpeg",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "content", "column", "sentence"),
    [
        ("a.csv", b"", None, "are empty"),
        ("a.csv", b"text\n", "text", "are empty"),
        ("a.csv", b'a\n"b\n', "a", "are no CSV"),
        ("a.csv", b"text\ngood, and cheap\n", "text", "row 1 has 2 cells, and the first row 1 names"),
        ("a.csv", b"a\n\xff\n", "a", "are not UTF-8 text"),
        ("a.csv", b"a,b,a\n1,2,3\n", "a", "the first row names a twice"),
        ("a.parquet", b"PAR1 and no more", "a", "are no Parquet that can be read"),
        ("a.txt", b"one", "text", "only .parquet, .csv, .jsonl, .json have columns"),
        ("a.json", b"[", "a", "are no JSON"),
        ("a.json", b'{"text": "a"}', "text", "are no list of objects"),
        ("a.json", b"[]", "text", "are empty"),
        ("a.jsonl", b'{"n": 3}', "n", "'n' is neither text nor an image: 3"),
    ],
)
def test_a_dataset_that_cannot_be_used_is_a_sentence(tmp_path, name, content, column, sentence):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputsError, match=sentence) as raised:
        read_inputs(tmp_path / name, column)
    assert "\n" not in str(raised.value)


def test_numbers_of_classes_are_named_as_the_dataset_says(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    features = {"mood": {"names": ["joy", "anger"], "_type": "ClassLabel"}, "text": {"dtype": "string"}}
    table = pyarrow.table({"text": ["a", "b", "c"], "mood": [1, 0, None]})

    def labels(metadata: bytes) -> list[str | None]:
        parquet.write_table(table.replace_schema_metadata({"huggingface": metadata}), tmp_path / "a.parquet")
        return [each.label for each in read_inputs(tmp_path / "a.parquet", "text", "mood")]

    assert labels(json.dumps({"info": {"features": features}}).encode()) == ["anger", "joy", None]
    for broken in (b"{}", b"[", b'{"info": {"features": {"mood": 3}}}', b"\xff"):
        with pytest.raises(InputsError, match="row 1: the label 1 is not text"):
            labels(broken)


def test_an_empty_table_and_a_missing_pyarrow_are_sentences(tmp_path, monkeypatch):
    pandas.DataFrame({"text": []}).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(InputsError, match="are empty"):
        read_inputs(tmp_path / "a.parquet", "text")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MatbenchError, match=r"needs pyarrow: pip install 'matrix-benchmarking\[parquet\]'"):
        read_inputs(tmp_path / "a.parquet", "text")


def test_an_unknown_key_of_inputs_is_a_sentence():
    with pytest.raises(ValidationError, match="colum_n"):
        Load.model_validate({"inputs": {"file": "a.csv", "colum_n": "text"}})


def test_a_cell_may_be_a_whole_book(tmp_path):
    (tmp_path / "a.csv").write_text(f"input\n{'word ' * 100_000}\n")
    assert [len(each.input) for each in read_inputs(tmp_path / "a.csv")] == [500_000]
