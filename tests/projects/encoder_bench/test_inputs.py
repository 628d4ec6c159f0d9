"""Inputs of a load: texts, JSON Lines, images."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from projects.encoder_bench.k6 import Input, InputsError, digest, read_inputs, write_inputs


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
