"""The index of a tree gives the matrix of the last parse without a look at the tests, or nothing."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import hashlib
import itertools
import json
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import platformdirs
import pytest
from builders import speed_files, speed_workload, write_test
from hypothesis import given
from hypothesis import strategies as st

from matrix_benchmarking import kpi, store
from matrix_benchmarking.columns import Columns, Numbers
from matrix_benchmarking.errors import MatbenchError
from matrix_benchmarking.matrix import Entry, Matrix, Problem, typed
from matrix_benchmarking.rows import ParsedTests, Rows
from matrix_benchmarking.store import FoundTest, cache, codec
from matrix_benchmarking.store.codec import BrokenCache
from matrix_benchmarking.store.entries import relative_name
from matrix_benchmarking.store.find import Candidate
from matrix_benchmarking.store.tree_index import Contents, candidate_of
from matrix_benchmarking.workload import Workload, load

INDEX = ".matbench_index.speed"
FIELDS = [field.name for field in dataclasses.fields(Entry) if not field.name.startswith("load_")]


@pytest.fixture(autouse=True)
def user_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("user-cache")))
    return Path(platformdirs.user_cache_dir("matbench"))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    for number, value in enumerate([1, "1", 1.0, True, None]):
        write_test(tree / f"{number}", {"x": value, "repeat": 0}, files=speed_files(number + 0.5))
    write_test(tree / "again", {"x": 1, "repeat": 1})
    write_test(tree / "failed", {"x": 2}, exit_code=3, files=speed_files(1))
    write_test(tree / "unfinished", {"x": 3}, exit_code=None)
    write_test(tree / "wrong", {"x": [1, 2]})
    (tree / "settings.yaml").write_text("model: m\n")
    (tree / "loop").symlink_to("/")
    return tree


def test_a_tree_may_be_given_as_text(tree: Path) -> None:
    parsed = store.parse_tree(speed_workload(), str(tree))
    indexed = store.read_index(speed_workload(), str(tree))
    assert indexed is not None
    assert len(indexed) == len(parsed) == len(store.parse_tree(speed_workload(), tree)) > 0
    assert store.clean(speed_workload(), str(tree)) == len(parsed)


def fields(entry: Entry) -> list[object]:
    """All of an entry but its loaders, with the types of its values."""
    parts: list[object] = [getattr(entry, name) for name in FIELDS]
    return [*parts, [typed(value) for value in (*entry.settings.values(), *entry.kpis.values())], list(entry.settings)]


def read(tree: Path, workload: Workload | None = None, **others: Any) -> Matrix | None:
    return store.read_index(workload or speed_workload(), tree, **others)


def indexed(tree: Path, workload: Workload | None = None, **others: Any) -> Matrix:
    found = read(tree, workload, **others)
    assert found is not None
    return found


def test_the_index_holds_all_of_the_matrix_with_its_types(tree: Path) -> None:
    matrix = store.parse_tree(speed_workload(), tree)
    found = indexed(tree)
    assert len(matrix) == 7
    assert [fields(entry) for entry in found] == [fields(entry) for entry in matrix]
    assert [fields(entry) for entry in found.unfinished] == [fields(entry) for entry in matrix.unfinished]
    assert found.notes == matrix.notes
    assert any("loop" in note for note in found.notes)


def test_results_and_payload_of_an_indexed_entry_are_those_of_the_parse(tree: Path) -> None:
    calls: list[str] = []
    matrix = store.parse_tree(speed_workload(calls), tree)
    parsed = len(calls)
    for entry, known in zip(indexed(tree, speed_workload(calls)), matrix, strict=True):
        assert entry.results == known.results
        assert entry.lts == known.lts
    assert len(calls) == parsed


def test_an_indexed_test_that_its_cache_alone_knows_has_no_results_either(tree: Path) -> None:
    store.parse_tree(speed_workload(), tree)
    shutil.rmtree(tree / "0" / "000__run")
    known = store.parse_tree(speed_workload(), tree).entries[0]
    entry = indexed(tree).entries[0]
    assert known.from_cache_alone
    assert fields(entry) == fields(known)
    assert entry.results.speed is None


def test_the_index_of_a_real_sample_is_its_matrix(sample: Path, tmp_path: Path) -> None:
    shutil.copytree(sample, tmp_path / "sample")
    workload = load("encoder_bench")
    matrix = store.parse_tree(workload, tmp_path / "sample", options={"prices": {"local": 1.0}})
    found = indexed(tmp_path / "sample", workload, options={"prices": {"local": 1.0}})
    assert [fields(entry) for entry in found] == [fields(entry) for entry in matrix]
    assert found.entries[0].lts == matrix.entries[0].lts


def test_reading_opens_no_test(tree: Path) -> None:
    matrix = store.parse_tree(speed_workload(), tree)
    for path in tree.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
    assert [fields(entry) for entry in indexed(tree)] == [fields(entry) for entry in matrix]


@pytest.mark.parametrize("how", ["parse", "index"])
def test_results_of_a_test_that_has_vanished_are_an_error_that_says_so(tree: Path, how: str) -> None:
    matrix = store.parse_tree(speed_workload(), tree)
    entry = (matrix if how == "parse" else indexed(tree)).entries[0]
    shutil.rmtree(entry.location)
    for load_it in (lambda: entry.results, lambda: entry.lts):
        with pytest.raises(MatbenchError, match=rf"^0: .*'{entry.location}' is not there any more.*; parse it again$"):
            load_it()
    assert not entry.location.exists()


def test_results_of_a_test_whose_settings_broke_are_an_error_that_names_it(tree: Path) -> None:
    store.parse_tree(speed_workload(), tree)
    (tree / "0" / "settings.yaml").write_text("x: [1]\n")
    with pytest.raises(MatbenchError, match=r"^0: its results can't be loaded: settings: 'x' is a list"):
        _ = indexed(tree).entries[0].results


def test_a_test_that_became_a_link_out_of_the_tree_is_not_loaded(tree: Path, tmp_path: Path) -> None:
    store.parse_tree(speed_workload(), tree)
    shutil.move(tree / "0", tmp_path / "elsewhere")
    (tree / "0").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(MatbenchError, match="outside the results directory"):
        _ = indexed(tree).entries[0].results


def test_a_tree_that_moved_has_its_index_with_the_new_places(tree: Path, tmp_path: Path) -> None:
    matrix = store.parse_tree(speed_workload(), tree)
    moved = tree.rename(tmp_path / "moved")
    found = indexed(moved)
    assert [entry.location for entry in found] == [moved / entry.name for entry in matrix]
    assert found.entries[0].results.speed == 0.5


def test_there_is_none_before_the_first_parse(tree: Path) -> None:
    assert read(tree) is None


def test_a_results_directory_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(MatbenchError, match="does not exist"):
        read(tmp_path / "nothing")


def test_the_index_is_of_one_workload_its_code_and_the_parsers_options(tree: Path, tmp_path: Path) -> None:
    source = tmp_path / "code.py"
    source.write_text("1")
    workload = dataclasses.replace(speed_workload(), source=source)
    store.parse_tree(workload, tree, options={"prices": {"a": 1, "b": 2}})
    assert read(tree, workload, options={"prices": {"b": 2, "a": 1}})
    for options in (None, {"prices": {"a": 1}}, {"prices": {"a": 1, "b": 3}}, {"prices": {"a": 1, "b": 2}, "c": 1}):
        assert read(tree, workload, options=options) is None
    same = {"prices": {"a": 1, "b": 2}}
    assert read(tree, dataclasses.replace(workload, name="other"), options=same) is None
    source.write_text("2")
    assert read(tree, workload, options=same) is None


def test_the_index_of_another_version_of_the_engine_is_not_taken(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store.parse_tree(speed_workload(), tree)
    monkeypatch.setattr(cache, "__version__", "99.0.0")
    assert read(tree) is None


def test_no_options_and_empty_ones_are_the_same(tree: Path) -> None:
    store.parse_tree(speed_workload(), tree)
    assert read(tree, options={})


def test_options_that_cannot_be_told_apart_leave_the_tree_without_an_index(tree: Path) -> None:
    matrix = store.parse_tree(speed_workload(), tree, options={"x": object()})
    assert any("no index of the tree is kept" in note for note in matrix.notes)
    assert read(tree, options={"x": object()}) is None
    assert not (tree / INDEX).exists()


@pytest.mark.parametrize("value", ["true", "1", "y", "YES"])
def test_the_variable_that_ignores_caches_ignores_the_index(
    tree: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    store.parse_tree(speed_workload(), tree)
    monkeypatch.setenv("MATBENCH_STORE_IGNORE_CACHE", value)
    assert read(tree) is None


def test_two_workloads_have_an_index_each(tree: Path) -> None:
    names = ["speed", "other", "a/b c", "..", "\udcff"]
    for name in names:
        store.parse_tree(dataclasses.replace(speed_workload(), name=name), tree)
    assert all(read(tree, dataclasses.replace(speed_workload(), name=name)) for name in names)
    assert len(list(tree.glob(".matbench_index.*"))) == len(names)


def damage_checksum(content: bytes) -> bytes:
    return content[:-1] + bytes([content[-1] ^ 1])


def newer_format(content: bytes) -> bytes:
    return b"matbench-index" + (99).to_bytes(2, "big") + content[16:]


def wrong_content(content: bytes) -> bytes:
    body = content[32:] + b"\x93\x01\x02\x03"
    return content[:16] + hashlib.blake2b(body, digest_size=16).digest() + body


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (damage_checksum, "checksum is wrong"),
        (lambda content: content[: len(content) // 2], "checksum is wrong"),
        (lambda content: b"", "not a matbench index"),
        (lambda content: b"\x80\x04\x95 a pickle", "not a matbench index"),
        (newer_format, "format 99 is newer"),
    ],
    ids=["one bit", "truncated", "empty", "pickle", "newer"],
)
def test_a_broken_index_is_ignored_and_the_next_parse_says_so_and_makes_it_anew(
    tree: Path, damage: Callable[[bytes], bytes], sentence: str
) -> None:
    store.parse_tree(speed_workload(), tree)
    path = tree / INDEX
    path.write_bytes(damage(path.read_bytes()))
    assert read(tree) is None
    notes = store.parse_tree(speed_workload(), tree).notes
    assert any("the index of the tree is ignored" in note and sentence in note for note in notes)
    assert not any("index" in note for note in indexed(tree).notes)


def test_an_index_with_a_right_checksum_and_wrong_content_is_ignored(tree: Path) -> None:
    store.parse_tree(speed_workload(), tree)
    (tree / INDEX).write_bytes(wrong_content((tree / INDEX).read_bytes()))
    assert read(tree) is None


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_columns_of_a_stranger_hold_no_number_that_is_not_finite(value: float) -> None:
    with pytest.raises(ValueError, match="not finite"):
        Numbers.of([1.0, value]).check(2)


def test_something_else_in_the_place_of_the_index_does_no_harm(tree: Path) -> None:
    os.mkfifo(tree / INDEX)
    assert read(tree) is None
    store.parse_tree(speed_workload(), tree)
    assert len(indexed(tree)) == 7


def test_the_index_is_in_the_users_directory_where_the_tree_cannot_be_written(tree: Path, user_cache: Path) -> None:
    (tree / INDEX).mkdir()  # in the way of a file, for root too
    matrix = store.parse_tree(speed_workload(), tree)
    assert not any("index" in note for note in matrix.notes)
    assert len(list(user_cache.rglob("*.index"))) == 1
    assert len(indexed(tree)) == 7


def test_an_old_index_in_a_tree_that_became_read_only_gives_way_to_the_newer_one(tree: Path, tmp_path: Path) -> None:
    store.parse_tree(speed_workload(), tree)
    old = tmp_path / "old"
    shutil.move(tree / INDEX, old)
    (tree / INDEX).mkdir()
    write_test(tree / "new", {"x": 9})
    store.parse_tree(speed_workload(), tree)
    (tree / INDEX).rmdir()
    shutil.move(old, tree / INDEX)
    assert len(indexed(tree)) == 8


def test_an_index_that_can_be_written_nowhere_is_a_note_and_no_error(tree: Path, user_cache: Path) -> None:
    (tree / INDEX).mkdir()
    user_cache.parent.mkdir(parents=True, exist_ok=True)
    user_cache.write_text("in the way of a directory")
    matrix = store.parse_tree(speed_workload(), tree)
    assert len(matrix) == 7
    assert [note for note in matrix.notes if "no index of the tree is kept" in note]
    assert read(tree) is None


def test_a_parse_that_finds_nothing_new_does_not_touch_the_index(tree: Path) -> None:
    store.parse_tree(speed_workload(), tree)
    before = (tree / INDEX).stat()
    store.parse_tree(speed_workload(), tree)
    after = (tree / INDEX).stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.parametrize(
    "change",
    [
        lambda tree: write_test(tree / "0", {"x": 7}),
        lambda tree: write_test(tree / "0", {"x": 1}, files=speed_files(99)),
        lambda tree: write_test(tree / "0", {"x": 1}, exit_code=2),
        lambda tree: write_test(tree / "new", {"x": 1}),
        lambda tree: shutil.rmtree(tree / "0"),
    ],
    ids=["setting", "artifact", "exit code", "new test", "removed test"],
)
def test_a_change_of_the_tree_is_in_the_index_after_the_next_parse(
    tree: Path, change: Callable[[Path], object]
) -> None:
    store.parse_tree(speed_workload(), tree)
    before = [fields(entry) for entry in indexed(tree)]
    change(tree)
    assert [fields(entry) for entry in indexed(tree)] == before
    matrix = store.parse_tree(speed_workload(), tree)
    assert [fields(entry) for entry in indexed(tree)] == [fields(entry) for entry in matrix] != before


def test_a_tree_whose_tests_are_all_gone_loses_its_index(tree: Path) -> None:
    store.parse_tree(speed_workload(), tree)
    for name in ("0", "1", "2", "3", "4", "again", "failed", "unfinished", "wrong"):
        shutil.rmtree(tree / name)
    (tree / "settings.yaml").unlink()
    with pytest.raises(MatbenchError, match="no test found"):
        store.parse_tree(speed_workload(), tree)
    assert read(tree) is None


def test_clean_removes_the_index_wherever_it_is(tree: Path, user_cache: Path) -> None:
    store.parse_tree(speed_workload(), tree)
    store.clean(speed_workload(), tree)
    assert not (tree / INDEX).exists()
    blocker = tree / INDEX
    blocker.mkdir()
    store.parse_tree(speed_workload(), tree)
    blocker.rmdir()
    store.clean(speed_workload(), tree)
    assert not list(user_cache.rglob("*.index"))
    assert read(tree) is None


class EveryFile:
    """A flat tree in which each file is a test."""

    looks_for = "files"

    def find(self, listing: store.Listing) -> list[FoundTest]:
        return [FoundTest(listing.path / name) for name in listing.files]

    def settings_files(self, test: Path, root: Path) -> list[Path]:
        return [test]

    def read_settings(self, test: Path, root: Path) -> dict[str, Any]:
        return dict(json.loads(test.read_text()))

    def read_exit_code(self, test: Path) -> int | None:
        return None


def test_the_index_is_not_taken_for_a_test_and_a_flat_tree_stays_as_it_is(tmp_path: Path) -> None:
    def parse_once(results: Any, test_file: Any) -> None:
        results.speed = store.read_json(test_file)["x"]

    workload = speed_workload(parse_once=parse_once, layouts=(EveryFile(),))
    flat = tmp_path / "flat"
    flat.mkdir()
    for number in (1, 2):
        (flat / f"{number}").write_text(json.dumps({"x": number}))
    shutil.copyfile(flat / "1", flat / INDEX)
    shutil.copyfile(flat / "1", flat / f".{INDEX}.0123456789abcdef")  # what a killed parse leaves
    for _ in range(2):
        assert [entry.name for entry in store.parse_tree(workload, flat)] == ["1", "2"]
    (flat / INDEX).unlink()
    assert [entry.results.speed for entry in indexed(flat, workload)] == [1, 2]
    assert sorted(path.name for path in flat.iterdir() if not path.name.startswith(".")) == ["1", "2"]


def test_a_flat_tree_without_a_test_that_can_be_read_stays_as_it_is_too(tmp_path: Path) -> None:
    workload = speed_workload(layouts=(EveryFile(),))
    (tmp_path / "flat").mkdir()
    (tmp_path / "flat" / "1").write_text('{"x": [1]}')
    assert len(store.parse_tree(workload, tmp_path / "flat").unfinished) == 1
    assert [path.name for path in (tmp_path / "flat").iterdir()] == ["1"]
    assert len(indexed(tmp_path / "flat", workload).unfinished) == 1


def test_a_results_directory_that_is_itself_a_test_gets_no_file_that_a_parser_could_match(tmp_path: Path) -> None:
    calls: list[str] = []

    def parse_once(results: Any, test_dir: Any) -> None:
        calls.append("x")
        results.files = sorted(path.name for path in test_dir.glob(".matbench_index*"))

    test = write_test(tmp_path / "a", {"x": 1})
    workload = speed_workload(parse_once=parse_once)
    for _ in range(2):
        matrix = store.parse_tree(workload, test)
    assert calls == ["x"]
    assert matrix.entries[0].results.files == []
    assert [entry.name for entry in indexed(test, workload)] == ["a"]


def test_parses_at_the_same_time_leave_one_whole_index(tree: Path) -> None:
    with concurrent.futures.ThreadPoolExecutor(4) as executor:
        for future in [executor.submit(store.parse_tree, speed_workload(), tree) for _ in range(12)]:
            assert len(future.result()) == 7
    assert len(indexed(tree)) == 7
    assert [path.name for path in tree.glob(".*matbench_index*")] == [INDEX]


def test_a_parse_that_is_killed_while_it_writes_leaves_the_old_index(tree: Path) -> None:
    store.parse_tree(speed_workload(), tree)
    script = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from matrix_benchmarking.files import atomic_write\n"
        "with atomic_write(Path(sys.argv[1]), durable=False) as stream:\n"
        "    stream.write(b'matbench-index' + bytes(1000))\n"
        "    stream.flush()\n"
        "    print('half', flush=True)\n"
        "    time.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(tree / INDEX)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "half\n"
        process.kill()
    assert len(list(tree.glob(f".{INDEX}.*"))) == 1
    assert len(indexed(tree)) == 7
    assert len(store.parse_tree(speed_workload(), tree)) == 7


def test_names_that_are_not_utf8_survive(tmp_path: Path) -> None:
    directory = os.fsdecode(os.fsencode(tmp_path) + b"/tree/na\xff")
    write_test(Path(directory), {"x": 1}, files=speed_files(1.0))
    matrix = store.parse_tree(speed_workload(), tmp_path / "tree")
    found = indexed(tmp_path / "tree")
    assert [fields(entry) for entry in found] == [fields(entry) for entry in matrix]
    assert found.entries[0].results.speed == 1.0


def test_an_exit_code_of_any_size_survives(tmp_path: Path) -> None:
    write_test(tmp_path / "a", {"repeat": 7}, exit_code=-(10**30))
    store.parse_tree(speed_workload(), tmp_path)
    entry = indexed(tmp_path).entries[0]
    assert (entry.exit_code, entry.repeat) == (-(10**30), 7)


def test_a_whole_number_of_a_kpi_stays_one(tmp_path: Path) -> None:
    @kpi.HigherBetter
    @kpi.KPIMetadata(help="A count", unit="")
    def count(lts_payload: Any) -> Any:
        return 3

    write_test(tmp_path / "a", {})
    workload = speed_workload(models_kpis=kpi.collect([count]))
    store.parse_tree(workload, tmp_path)
    assert [typed(value) for value in indexed(tmp_path, workload).entries[0].kpis.values()] == [("int", 3)]


ROOT = Path("/results")
text = st.text(max_size=5) | st.just("\udcff\ud800")
names = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=5).filter(
    lambda name: name not in (".", "..")
)
scalars = text | st.booleans() | st.none() | st.integers(-(1 << 63), (1 << 63) - 1) | st.floats()
numbers = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(1 << 63), (1 << 63) - 1)


@st.composite
def entries(draw: st.DrawFn) -> Entry:
    location = ROOT.joinpath(*draw(st.lists(names, max_size=3)))
    return Entry(
        settings=draw(st.dictionaries(text, scalars, max_size=4)),
        repeat=draw(st.integers(0)),
        location=location,
        name=relative_name(str(location), ROOT),
        exit_code=draw(st.none() | st.integers()),
        finished=draw(st.booleans()),
        test_uuid=draw(st.none() | text),
        has_own_uuid=draw(st.booleans()),
        campaign=draw(st.none() | text),
        round=draw(st.none() | st.integers(1, 1 << 31)),
        host=draw(st.none() | text),
        span_us=draw(st.tuples(*[st.none() | st.integers(-(1 << 62), 1 << 62)] * 2)),
        problems=tuple(draw(st.lists(st.builds(Problem, text, st.none() | text), max_size=2))),
        missing_files=tuple(draw(st.lists(text, max_size=2))),
        kpis=draw(st.dictionaries(text, numbers, max_size=3)),
        missing_kpis=draw(st.dictionaries(text, text, max_size=3)),
        warnings=tuple(draw(st.lists(text, max_size=2))),
        implausible=tuple(draw(st.lists(text, max_size=2))),
        harmless=tuple(draw(st.lists(text, max_size=2))),
        from_cache_alone=draw(st.booleans()),
    )


def contents(found: list[tuple[Entry, int | None, bool]], notes: list[str]) -> Contents:
    return Contents(Columns.of([entry for entry, _, _ in found], [each[1:] for each in found], ROOT), notes)


def encode(found: Contents) -> bytes:
    return codec.pack_struct((), found)


def decode(content: bytes, layouts: int) -> Contents:
    found = codec.unpack_struct(content, (), Contents)
    assert found is not None
    found.tests.check(layouts)
    return found


def parsed(found: Contents) -> ParsedTests:
    return ParsedTests(found.tests, ROOT, lambda place: SimpleNamespace(), lambda entry: SimpleNamespace())


def rows(found: Contents) -> Rows:
    return Rows(parsed(found))


found_tests = st.lists(st.tuples(entries(), st.none() | st.just(0), st.booleans()), max_size=5)


@given(found_tests, st.lists(text, max_size=3))
def test_whatever_an_entry_holds_comes_back_with_its_type(
    found: list[tuple[Entry, int | None, bool]], notes: list[str]
) -> None:
    content = encode(contents(found, notes))
    back = decode(content, layouts=1)
    given_entries = [entry for entry, _, _ in found]
    assert repr([fields(entry) for entry in rows(back)]) == repr([fields(entry) for entry in given_entries])  # NaN too
    ways = [candidate_of(parsed(back), place) for place in range(len(found))]
    assert ways == [
        Candidate(str(entry.location), layout, is_file=is_file, cache_counts=not entry.from_cache_alone)
        for entry, layout, is_file in found
    ]
    assert back.notes == notes
    assert encode(back) == content


@given(found_tests, st.integers(1, 3))
def test_it_does_not_matter_how_many_tests_a_worker_gave_back_at_a_time(
    found: list[tuple[Entry, int | None, bool]], size: int
) -> None:
    parts = [contents(found[start : start + size], []).tests for start in range(0, len(found), size)]
    joined = Contents(Columns.joined([*parts, contents([], []).tests]), [])
    assert encode(joined) == encode(contents(found, []))


@given(found_tests, st.data())
def test_a_selection_has_the_entries_that_were_there(
    found: list[tuple[Entry, int | None, bool]], data: st.DataObject
) -> None:
    every = rows(contents(found, []))
    wanted = data.draw(st.lists(st.booleans(), min_size=len(found), max_size=len(found)))
    selected = every.where(wanted)
    assert all(one is other for one, other in zip(selected, itertools.compress(every, wanted), strict=True))
    given_entries = Rows.of(itertools.compress([entry for entry, _, _ in found], wanted))
    assert selected.names() == given_entries.names()
    for name in selected.names():
        both = [
            [typed(values[code]) for code in codes]
            for values, codes in map(settings_of(name), (selected, given_entries))
        ]
        assert repr(both[0]) == repr(both[1])


def settings_of(name: str) -> Callable[[Rows], Any]:
    return lambda rows: rows.setting(name)


@given(st.data())
def test_forged_content_is_refused_or_gives_entries_inside_the_tree(data: st.DataObject) -> None:
    entry = Entry({"x": 1}, 0, ROOT / "a" / "b", "a/b", 0, kpis={"k": 1.0, "n": 3}, problems=(Problem("p", "f"),))
    other = Entry({"y": "1"}, 0, ROOT / "c", "c", 0, kpis={"n": 1 << 60})
    content = bytearray(encode(contents([(entry, 0, False), (other, 0, False)], [])))
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        back = decode(bytes(content), layouts=1)
    except (BrokenCache, ValueError, KeyError, TypeError):
        return
    for found in rows(back):
        fields(found)
        assert found.location == ROOT or ROOT in found.location.parents
        assert all(isinstance(value, str | int | float | bool | None) for value in found.settings.values())
        assert all(isinstance(value, int | float) for value in found.kpis.values())


@pytest.mark.parametrize("path", [b"/etc", b"../x", b"x/..", b"a\0b/"])
def test_a_forged_path_out_of_the_tree_is_refused(path: bytes) -> None:
    place = "p" * len(path)
    content = encode(contents([(Entry({}, 0, ROOT / place, place, 0), 0, False)], []))
    with pytest.raises(ValueError, match="out of the tree"):
        decode(content.replace(place.encode(), path), layouts=1)


def test_a_layout_that_the_workload_lacks_is_refused() -> None:
    content = encode(contents([(Entry({}, 0, ROOT / "a", "a", 0), 3, False)], []))
    with pytest.raises(ValueError, match="layout"):
        decode(content, layouts=1)
