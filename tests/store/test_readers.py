"""Readers: many tests in one file, each with a place, an id and results of its own."""

from __future__ import annotations

import dataclasses
import json
import tracemalloc
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from matrix_benchmarking import kpi, store
from matrix_benchmarking.errors import ArtifactError, MatbenchError
from matrix_benchmarking.matrix import Matrix
from matrix_benchmarking.store import ArtifactPath, BaseStore, FoundTest, Listing, Part, reader_store
from matrix_benchmarking.workload import Workload


@kpi.HigherBetter
@kpi.KPIMetadata(help="How fast it is", unit="m/s")
def speed(lts_payload: Any) -> float:
    return float(lts_payload.results.speed)


class Lines:
    """A reader of one JSON object a line, which counts how often it was asked to read."""

    def __init__(self) -> None:
        self.read_files: list[str] = []

    def recognises(self, head: bytes, name: str) -> bool:
        return name.endswith(".jsonl") and head.startswith(b"{")

    def read(self, file: ArtifactPath) -> Iterator[Part]:
        self.read_files.append(file.name)
        with file.open("rb") as stream:
            for number, line in enumerate(stream):
                try:
                    fields = json.loads(line)
                except ValueError as error:
                    raise ArtifactError(file, f"line {number + 1} is not JSON") from error
                name = fields.pop("part", f"line {number + 1}")
                yield name, {key: fields.pop(key) for key in ("rate", "repeat") if key in fields}, fields


def workload_of(*readers: Any, **changes: Any) -> Workload:
    return Workload(name="lines", store=reader_store(readers, models_kpis=kpi.collect([speed]), **changes))


@pytest.fixture
def lines() -> Lines:
    return Lines()


def write(path: Path, *rows: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows))


def by_name(matrix: Matrix) -> dict[str, Any]:
    return {entry.name: entry for entry in matrix}


def test_each_part_has_its_settings_results_id_and_place(lines: Lines, tmp_path: Path) -> None:
    write(tmp_path / "a" / "sweep.jsonl", {"rate": 1, "speed": 10.5}, {"rate": 2, "speed": 12.5})
    write(tmp_path / "a" / "settings.yaml", "version: 1.2.3", "repeat: 4")
    matrix = store.parse_tree(workload_of(lines), tmp_path)
    entries = by_name(matrix)
    assert list(entries) == ["a/sweep.jsonl#line 1", "a/sweep.jsonl#line 2"]
    second = entries["a/sweep.jsonl#line 2"]
    assert (second.settings, second.repeat) == ({"version": "1.2.3", "rate": 2}, 4)
    assert (second.kpis, second.results.speed) == ({"speed": 12.5}, 12.5)
    assert second.location == tmp_path / "a" / "sweep.jsonl"
    assert len({entry.test_uuid for entry in matrix}) == len({entry.measurement for entry in matrix}) == 2
    assert not any(str(entry.measurement).endswith("*") for entry in matrix)
    assert lines.read_files == ["sweep.jsonl"]


def test_a_file_is_read_again_only_where_it_changed(lines: Lines, tmp_path: Path) -> None:
    file = tmp_path / "sweep.jsonl"
    write(file, {"rate": 1, "speed": 10}, {"rate": 2, "speed": 12})
    workload = workload_of(lines)
    first = by_name(store.parse_tree(workload, tmp_path))
    again = by_name(store.parse_tree(workload, tmp_path))
    assert len(lines.read_files) == 1
    assert {name: (entry.test_uuid, entry.kpis) for name, entry in again.items()} == {
        name: (entry.test_uuid, entry.kpis) for name, entry in first.items()
    }
    write(file, {"rate": 1, "speed": 10}, {"rate": 2, "speed": 13}, {"rate": 3, "speed": 14})
    edited = by_name(store.parse_tree(workload, tmp_path))
    assert len(lines.read_files) == 2
    assert [entry.kpis["speed"] for entry in edited.values()] == [10, 13, 14]
    # What stays as it was is the same run, wherever rows were added.
    assert edited["sweep.jsonl#line 1"].test_uuid == first["sweep.jsonl#line 1"].test_uuid
    assert edited["sweep.jsonl#line 2"].test_uuid != first["sweep.jsonl#line 2"].test_uuid
    (tmp_path / "settings.yaml").write_text("version: 2\n")
    assert store.parse_tree(workload, tmp_path).entries[0].settings == {"version": 2, "rate": 1}
    assert len(lines.read_files) == 2
    assert store.clean(workload, tmp_path) == 1


def test_the_index_has_the_parts(lines: Lines, tmp_path: Path) -> None:
    write(tmp_path / "sweep.jsonl", *({"rate": rate, "speed": rate} for rate in range(50)))
    workload = workload_of(lines)
    parsed = store.parse_tree(workload, tmp_path)
    indexed = store.read_index(workload, tmp_path)
    assert indexed is not None
    assert [(entry.name, entry.part, entry.test_uuid, entry.kpis) for entry in indexed] == [
        (entry.name, entry.part, entry.test_uuid, entry.kpis) for entry in parsed
    ]
    assert [entry.results.speed for entry in indexed] == list(range(50))
    assert indexed.entries[7].lts.metadata.settings == {"rate": 7}
    assert len(lines.read_files) == 1


def test_results_beyond_what_is_kept_come_back_one_after_the_other(
    lines: Lines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("matrix_benchmarking.store.tree_index._KEPT_BYTES", 2000)
    write(tmp_path / "sweep.jsonl", *({"rate": rate, "speed": rate, "log": "x" * 100} for rate in range(60)))
    matrix = store.parse_tree(workload_of(lines), tmp_path)
    for order in (matrix.entries, matrix.entries[::-1]):
        assert [entry.results.speed for entry in order] == [entry.settings["rate"] for entry in order]
    (tmp_path / "sweep.jsonl").write_text('{"rate": 0, "speed": 1}\n')
    with pytest.raises(
        MatbenchError, match=r"sweep\.jsonl#line 41: its results can't be loaded: the file doesn't hold"
    ):
        _ = matrix.entries[40].results


def test_files_that_two_readers_claim_or_none_are_named(lines: Lines, tmp_path: Path) -> None:
    class Everything(Lines):
        def recognises(self, head: bytes, name: str) -> bool:
            return name.endswith("both.jsonl")

    write(tmp_path / "good.jsonl", {"speed": 1})
    write(tmp_path / "both.jsonl", {"speed": 1})
    write(tmp_path / "README.md", "words")
    write(tmp_path / "notes.txt", "words")
    matrix = store.parse_tree(workload_of(lines, Everything()), tmp_path)
    assert [entry.name for entry in matrix] == ["good.jsonl#line 1"]
    assert [(entry.name, entry.problems[0].reason) for entry in matrix.unfinished] == [
        ("both.jsonl", "the readers Lines and Everything both claim it")
    ]
    assert matrix.notes == ["README.md, notes.txt: left out, no reader recognises it"]


def test_of_many_files_that_none_claims_the_directories_are_counted(lines: Lines, tmp_path: Path) -> None:
    write(tmp_path / "good.jsonl", {"speed": 1})
    for number in range(30):
        write(tmp_path / "a" / "history" / f"{number}.txt", "words")
    write(tmp_path / "b" / "notes.txt", "words")
    (note,) = store.parse_tree(workload_of(lines), tmp_path).notes
    assert note == "30 in a/history, b/notes.txt: left out, no reader recognises it"


def test_a_tree_without_any_result_file_says_what_it_looked_for(lines: Lines, tmp_path: Path) -> None:
    write(tmp_path / "README.md", "words")
    with pytest.raises(MatbenchError, match=r"looks for result files of Lines\n  README.md: left out, no reader"):
        store.parse_tree(workload_of(lines), tmp_path)


@pytest.mark.parametrize(
    ("rows", "names", "reason"),
    [
        ([{"speed": 1}, '{"speed": '], ["f.jsonl#line 1"], "line 2 is not JSON"),
        ([{"part": "a", "speed": 1}, {"part": "a"}], ["f.jsonl#a"], "the reader Lines gives the part 'a' twice"),
        (["{}", "[]"], ["f.jsonl#line 1"], "parse_once stopped after it read 'f.jsonl': "),
        ([{"rate": [1], "speed": 1}, {"speed": 1}], ["f.jsonl#line 2"], "settings: 'rate' is a list; a setting is"),
    ],
)
def test_what_is_wrong_with_a_file_is_a_problem_and_the_rest_stays(
    lines: Lines, tmp_path: Path, rows: list[Any], names: list[str], reason: str
) -> None:
    write(tmp_path / "f.jsonl", *rows)
    for _ in range(2):  # from the file, and from the cache
        matrix = store.parse_tree(workload_of(lines), tmp_path)
        assert [entry.name for entry in matrix] == names
        assert [entry.problems[0].reason[: len(reason)] for entry in matrix.unfinished] == [reason]


@pytest.mark.parametrize("given", [None, ("a", {}), ("a", {}, 5), ("a", None, {}), types.SimpleNamespace(name="a")])
def test_a_reader_that_gives_no_part_is_told_what_it_should_give(given: Any, tmp_path: Path) -> None:
    class Odd(Lines):
        def read(self, file: ArtifactPath) -> Iterator[Part]:
            yield given

    write(tmp_path / "one.jsonl", {})
    (lost,) = store.parse_tree(workload_of(Odd()), tmp_path).unfinished
    said = f"the reader Odd gives {given!r}, and should give a name, settings and results, both by name"
    assert said in lost.problems[0].reason


def test_a_reader_that_finds_nothing_or_stops_is_a_problem(tmp_path: Path) -> None:
    class Empty(Lines):
        def recognises(self, head: bytes, name: str) -> bool:
            if name.endswith(".bad"):
                raise KeyError("x")
            return True

        def read(self, file: ArtifactPath) -> Iterator[Part]:
            yield from ()

    write(tmp_path / "one.jsonl", {})
    write(tmp_path / "two.bad", {})
    matrix = store.parse_tree(workload_of(Empty()), tmp_path)
    assert [(entry.name, entry.problems[0].reason) for entry in matrix.unfinished] == [
        ("one.jsonl", "holds no result"),
        ("two.bad", "the reader Empty can't tell what it is: there is no 'x'"),
    ]


def test_parts_of_one_campaign_are_a_block_and_no_artifact(lines: Lines, tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(tmp_path / f"{name}.jsonl", *({"speed": 1, "repeat": at, "campaign": True} for at in range(2)), name)
    matrix = store.parse_tree(workload_of(lines), tmp_path)
    campaigns = [entry.campaign for entry in matrix]
    assert campaigns[0] == campaigns[1] != campaigns[2] == campaigns[3]
    assert not hasattr(matrix.entries[0].results, "campaign")


def test_files_of_a_test_directory_are_of_a_run_that_ended_as_it_says(lines: Lines, tmp_path: Path) -> None:
    for number, code in enumerate(("0", "3", "")):
        directory = tmp_path / f"run_{number}"
        write(directory / "000__tool" / "out.jsonl", {"speed": 1, "rate": 5}, {"speed": 2, "exit_code": 7})
        write(directory / "settings.yaml", f"batch: {number}")
        write(directory / "block.json", {"version": 1, "campaign": "c", "round": 2})
        (directory / "exit_code").write_text(code)
    matrix = store.parse_tree(workload_of(lines), tmp_path)
    assert [(entry.settings, entry.exit_code, entry.campaign, entry.round) for entry in matrix] == [
        ({"batch": 0, "rate": 5}, 0, "c", 2), ({"batch": 0}, 7, "c", 2),
        ({"batch": 1, "rate": 5}, 3, "c", 2), ({"batch": 1}, 7, "c", 2),
    ]  # fmt: skip
    assert [(entry.name, entry.problems[0].reason) for entry in matrix.unfinished] == [
        (
            "run_2/000__tool/out.jsonl",
            "did not finish: exit_code is empty, the run was interrupted while it was written",
        )
    ]


def test_no_reader_makes_a_good_run_of_one_that_failed_or_was_interrupted(lines: Lines, tmp_path: Path) -> None:
    for name, left in (("failed", "exit_code"), ("interrupted", "interrupted"), ("killed", "000__script/out.log")):
        write(tmp_path / name / "out.jsonl", {"speed": 1, "exit_code": 0})
        write(tmp_path / name / left, "1")
        write(tmp_path / name / "settings.yaml", "batch: 1")
    write(tmp_path / "of another" / "tool" / "out.jsonl", {"speed": 2, "exit_code": 0})
    (tmp_path / "of another" / "tool" / "interrupted").mkdir()  # called so by chance
    write(tmp_path / "of another" / "000__script" / "kept.txt", "an artifact that somebody kept")
    assert not store.parse_tree(workload_of(lines), tmp_path / "interrupted").entries
    matrix = store.parse_tree(workload_of(lines), tmp_path)
    assert [(entry.name, entry.exit_code) for entry in matrix] == [
        ("failed/out.jsonl#line 1", 1),
        ("of another/tool/out.jsonl#line 1", 0),
    ]
    assert [(entry.name, str(entry.problems[0])) for entry in matrix.unfinished] == [
        ("interrupted/out.jsonl", "did not finish: there is no exit code in interrupted"),
        ("killed/out.jsonl", "did not finish: there is no exit code in killed"),
    ]


def test_results_that_another_run_left_take_no_part(lines: Lines, tmp_path: Path) -> None:
    run = {"start": "2026-04-01T10:00:00+02:00", "end": "2026-04-01T10:05:00+02:00"}
    dates = ("2026-03-20 09:30:00", "2026-04-01 22:02:00", "2026-03-31 19:01:00", "no date")
    for number, date in enumerate(dates):
        directory = tmp_path / f"run_{number}"
        write(directory / "out.jsonl", {"speed": 1, "local_time": date})
        write(directory / "test_start_end.json", run if number < 3 else {"start": "yesterday"})
        write(directory / "block.json", {"version": 1, "campaign": "c", "round": 0})
        (directory / "exit_code").write_text("0")
    matrix = store.parse_tree(workload_of(lines), tmp_path)
    assert [entry.name.partition("/")[0] for entry in matrix] == ["run_1", "run_2", "run_3"]
    (stale,) = matrix.unfinished
    assert (
        str(stale.problems[0]) == "is dated 2026-03-20 09:30, and its run 2026-04-01 10:00: did another run leave it?"
    )
    assert [str(each) for entry in matrix for each in entry.problems] == [
        "block.json: its round is no positive number"
    ] * 3


def test_parts_come_through_processes(tmp_path: Path) -> None:
    sample = Path(__file__).parents[2] / "data" / "samples" / "micro_bench" / "go"
    (tmp_path / "go.txt").write_text((sample / "go.txt").read_text())
    from matrix_benchmarking.workload import load

    workload = load("projects.micro_bench.visualizations")
    assert len(store.parse_tree(workload, tmp_path, jobs=2)) == 15


def test_a_layout_may_name_the_parts_itself(tmp_path: Path) -> None:
    @dataclasses.dataclass(frozen=True)
    class Columns:
        looks_for = "files *.csv"

        def find(self, listing: Listing) -> list[FoundTest]:
            csv = [name for name in listing.files if name.endswith(".csv")]
            return [FoundTest(listing.path / name, part=part) for name in csv for part in ("b", "a")]

        def settings_files(self, test: Path, root: Path) -> list[Path]:
            return [test]

        def read_settings(self, test: Path, root: Path, part: str = "") -> dict[str, Any]:
            return {"column": part}

        def read_exit_code(self, test: Path) -> int | None:
            return None

    def parse_once(results: types.SimpleNamespace, test_dir: Any) -> None:
        names, values = test_dir.read_text().splitlines()
        results.speed = float(values.split(",")[names.split(",").index(test_dir.part)])

    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    base = BaseStore(parse_once=parse_once, layouts=(Columns(),), models_kpis=kpi.collect([speed]))
    matrix = store.parse_tree(Workload(name="columns", store=base), tmp_path)
    assert {entry.name: (entry.settings, entry.kpis["speed"]) for entry in matrix} == {
        "x.csv#a": ({"column": "a"}, 1.0),
        "x.csv#b": ({"column": "b"}, 2.0),
    }
    assert len({entry.test_uuid for entry in matrix}) == 2
    assert [entry.results.speed for entry in matrix] == [1.0, 2.0]


def test_a_file_is_streamed_not_held(lines: Lines, tmp_path: Path) -> None:
    class Sums(Lines):
        def read(self, file: ArtifactPath) -> Iterator[Part]:
            for name, settings, fields in super().read(file):
                yield name, settings, {"speed": len(fields["log"])}

    size = 1 << 20
    with (tmp_path / "big.jsonl").open("w") as stream:
        for rate in range(24):
            stream.write(json.dumps({"rate": rate, "log": "x" * size}) + "\n")
    tracemalloc.start()
    try:
        matrix = store.parse_tree(workload_of(Sums()), tmp_path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert [entry.kpis["speed"] for entry in matrix] == [size] * 24
    assert peak < 12 * size


def test_what_a_reader_counts_goes_on_from_the_repeat_above_it(lines: Lines, tmp_path: Path) -> None:
    for number in range(3):
        write(tmp_path / f"{number}" / "settings.yaml", "version: 1.2.3", f"repeat: {number}")
        write(tmp_path / f"{number}" / "a.jsonl", *({"speed": 1 + number + at / 8, "repeat": at} for at in range(2)))
    assert [run.repeat for run in store.parse_tree(workload_of(lines), tmp_path)] == [0, 1, 2, 3, 4, 5]
