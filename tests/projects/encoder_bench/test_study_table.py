"""The study's published table: Parquet with one row a run, read as its JSON files are."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pandas
import pytest

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


def test_a_run_has_the_same_kpis_from_either(foreign_samples, rows, tmp_path):
    pandas.DataFrame(rows).to_parquet(tmp_path / "results.parquet", index=False)
    of_files, of_rows = parse(foreign_samples / "encoder_analysis"), parse(tmp_path)

    def known(matrix):
        return {repr(sorted(entry.settings.items())): dict(entry.kpis) for entry in matrix}

    assert len(of_rows) == len(of_files) == 80
    assert known(of_rows) == known(of_files)
    assert of_rows.notes == []


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
