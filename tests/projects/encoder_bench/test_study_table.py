"""The study's published table: Parquet with one row a run, read as its JSON files are."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pandas
import pytest
from study_tables import TABLE, VISION_COSTS, published, vision_rows

from matrix_benchmarking import store
from matrix_benchmarking.cli import main
from matrix_benchmarking.workload import load

pytest.importorskip("pyarrow")


@pytest.fixture(autouse=True)
def user_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def rows(foreign_samples: Path) -> list[dict[str, object]]:
    return [json.loads(path.read_text()) for path in sorted((foreign_samples / "encoder_analysis").rglob("*.json"))]


def parse(directory: Path):
    return store.parse_tree(load("encoder_bench"), directory)


def known(matrix) -> dict[str, tuple[object, ...]]:
    """All that is known of each run but where it comes from, by its settings."""
    return {
        repr(sorted(entry.settings.items())): (
            dict(entry.kpis), entry.missing_kpis, entry.warnings, entry.implausible, entry.repeat, entry.exit_code,
        )
        for entry in matrix
    }  # fmt: skip


def ids(matrix) -> set[str]:
    return {entry.test_uuid for entry in matrix}


def test_a_run_is_the_same_from_the_table_and_from_its_file(foreign_samples, rows, tmp_path):
    frame = published(rows, tmp_path)
    of_files, of_rows = parse(foreign_samples / "encoder_analysis"), parse(tmp_path)
    assert len(of_rows) == len(of_files) == 80
    assert known(of_rows) == known(of_files)
    assert of_rows.notes == of_files.notes
    costs = {(row["batch_size"], row["vus"]): row["1B_cost"] for row in frame.to_dict("records")}
    assert {
        (entry.settings["batch_size"], entry.settings["vus"]): entry.kpis["1B_cost"] for entry in of_rows
    } == pytest.approx(costs)  # the study's own, row by row


def test_either_is_the_same_from_the_hub(foreign_samples, rows, tmp_path, hub_tree, monkeypatch):
    monkeypatch.chdir(tmp_path)
    published(rows, Path("table"))
    shutil.copytree(foreign_samples / "encoder_analysis", hub_tree / "results")
    shutil.copytree("table", hub_tree, dirs_exist_ok=True)
    for name, local in [("results", foreign_samples / "encoder_analysis"), (str(TABLE), Path("table"))]:
        here = Path("fetched", name)
        address = f"hf://datasets/lab/runs/{name}"
        assert main(["download", f"--url={address}", f"--results-dirname={here}", "--workload=encoder_bench"]) == 0
        fetched, own = parse(here), parse(local)
        assert known(fetched) == known(own)
        assert ids(fetched) == ids(own)
        assert len(ids(own)) == 80


def test_a_row_is_another_record_than_its_file(foreign_samples, rows, tmp_path):
    """An id is of the bytes that were read; the page says so."""
    published(rows, tmp_path)
    assert not ids(parse(tmp_path)) & ids(parse(foreign_samples / "encoder_analysis"))


def test_the_study_s_vision_runs_have_its_costs_and_counts_of_vectors(tmp_path):
    published(vision_rows(), tmp_path)
    entries = list(parse(tmp_path))
    assert {entry.settings["task"] for entry in entries} == {"vision_embedding"}
    costs = {entry.settings["batch_size"]: entry.kpis["1B_cost"] for entry in entries}
    assert costs == pytest.approx(VISION_COSTS, abs=0.01)
    studies = [entry.results.study for entry in entries]
    assert {(study.vectors_per_input_least, study.vectors_per_input_most) for study in studies} == {(81, 779)}
    assert {study.vectors_per_input for study in studies} == {365.445183, 365.832192}
    output = f"--output-lts={tmp_path / 'lts.json'}"
    assert main(["parse", "--workload=encoder_bench", f"--results-dirname={tmp_path}", output]) == 0


def test_rows_of_several_tasks_lack_one_another_s_columns(rows, tmp_path):
    other = {**rows[0], "accuracy_percentage": 91.5, "vus": 7}
    del other["avg_embedding_size"]
    vision = {**rows[0], "avg_num_vectors": 731.5, "invalid_embeddings": 3, "vus": 9}
    del vision["avg_embedding_size"]
    pandas.DataFrame([rows[0], other, vision, rows[0]]).to_parquet(tmp_path / "r.parquet")
    entries = list(parse(tmp_path))
    assert [(entry.settings["task"], entry.repeat) for entry in entries] == [
        ("embedding", 0), ("classification", 0), ("vision_embedding", 0), ("embedding", 1),
    ]  # fmt: skip
    assert entries[1].kpis["accuracy"] == pytest.approx(0.915)
    output = f"--output-lts={tmp_path / 'lts.json'}"
    assert main(["parse", "--workload=encoder_bench", f"--results-dirname={tmp_path}", output]) == 0


def refused(directory: Path, capsys) -> str:
    main(["parse", "--workload=encoder_bench", f"--results-dirname={directory}"])
    return capsys.readouterr().err


def test_a_table_that_is_not_the_study_s_is_no_test(foreign_samples, tmp_path):
    for name in ("lts.parquet", "index.parquet"):
        pandas.DataFrame({"text": ["a"]}).to_parquet(tmp_path / name)
    run = next((foreign_samples / "encoder_analysis").rglob("*.json"))
    (tmp_path / run.name).write_bytes(run.read_bytes())
    assert len(parse(tmp_path)) == 1


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda frame: frame.drop(columns="hw_type"), "row 1: not a result of an encoder run: it has no hw_type"),
        (lambda frame: frame.iloc[:0], "holds no result"),
        (lambda frame: frame.assign(total_requests="many"), "'total_requests' is 'many', not a number of at least 0"),
    ],
)
def test_a_table_that_cannot_be_read_is_a_sentence(rows, tmp_path, capsys, change, sentence):
    change(pandas.DataFrame(rows)).to_parquet(tmp_path / "r.parquet")
    assert sentence in refused(tmp_path, capsys)


@pytest.mark.parametrize("content", [b"PAR1 and no more", b"", b"a,b\n1,2\n"])
def test_a_damaged_table_is_a_sentence(tmp_path, capsys, content):
    (tmp_path / "r.parquet").write_bytes(content)
    said = refused(tmp_path, capsys)
    assert "is no Parquet that can be read" in said
    assert "internal" not in said


def test_without_pyarrow_it_says_what_brings_it(rows, tmp_path, capsys, monkeypatch):
    pandas.DataFrame(rows).to_parquet(tmp_path / "r.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "needs pyarrow: pip install 'matrix-benchmarking[parquet]'" in refused(tmp_path, capsys)
