"""Datasets of the Hugging Face Hub."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from matrix_benchmarking import store, workload
from matrix_benchmarking.download import hub
from matrix_benchmarking.errors import DownloadError

pytest.importorskip("huggingface_hub")


def test_a_file_of_a_dataset_is_fetched(hub_tree: Path) -> None:
    (hub_tree / "data").mkdir()
    (hub_tree / "data" / "texts.csv").write_text("text\none\n")
    for address in ("hf://datasets/lab/runs/data/texts.csv", "hf://datasets/lab/runs@main/data/texts.csv"):
        assert hub.fetched(address).read_text() == "text\none\n"


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("hf://datasets/lab/other/x.csv", "there is no such dataset, or it isn't public"),
        ("hf://datasets/lab/runs@v9/x.csv", "there is no such revision"),
        ("hf://datasets/lab/runs/x.csv", "there is no such file or directory"),
    ],
)
def test_what_the_hub_does_not_have_is_a_sentence(hub_tree: Path, address: str, sentence: str) -> None:
    with pytest.raises(DownloadError, match=sentence) as raised:
        hub.fetched(address)
    assert "\n" not in str(raised.value)


def test_a_tree_is_downloaded_and_then_only_what_changed(hub_tree, download, foreign_samples, capsys) -> None:
    runs = sorted((foreign_samples / "encoder_analysis").rglob("*.json"))[:3]
    (hub_tree / "embedding").mkdir()
    for run in runs:
        (hub_tree / "embedding" / run.name).write_bytes(run.read_bytes())
    assert download("hf://datasets/lab/runs") == 0
    assert "Fetched 3 files of 3 tests" in capsys.readouterr().out
    assert len(store.parse_tree(workload.load("encoder_bench"), Path("here"))) == 3
    (hub_tree / "embedding" / runs[0].name).write_bytes(runs[0].read_bytes() + b"\n")
    assert download("hf://datasets/lab/runs") == 0
    assert "Fetched 1 file" in capsys.readouterr().out


@pytest.mark.parametrize("address", ["hf://datasets/lab/runs", "hf://datasets/lab/runs/data/results.parquet"])
def test_the_published_table_is_downloaded(hub_tree, download, foreign_samples, address) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    rows = [json.loads(path.read_text()) for path in (foreign_samples / "encoder_analysis").rglob("*.json")]
    (hub_tree / "data").mkdir()
    (hub_tree / "data" / "README.md").write_text("what it is")
    pandas.DataFrame(rows).to_parquet(hub_tree / "data" / "results.parquet")
    assert download(address) == 0
    assert len(store.parse_tree(workload.load("encoder_bench"), Path("here"))) == 80
    assert not list(Path("here").rglob("README.md"))


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("hf://datasets/lab/other", "there is no such dataset"),
        ("hf://datasets/lab/runs/nowhere", "there is no such file or directory in the dataset"),
        ("hf://lab/runs", "is not hf://datasets/OWNER/NAME/PATH"),
    ],
)
def test_a_download_that_cannot_be_is_a_sentence(hub_tree, download, capsys, address, sentence) -> None:
    assert download(address) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1


def test_a_hub_that_cannot_be_reached_is_a_sentence(hub_tree, download, capsys, monkeypatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    assert download("hf://datasets/lab/runs") == 2
    assert "the Hub can't be reached" in capsys.readouterr().err
