"""The cache knows when it is stale, and a broken one is a note and a re-parse."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import types
from pathlib import Path

import platformdirs
import pytest
from builders import RESULT_FILE, speed_files, speed_workload, write_test
from hypothesis import given, settings
from hypothesis import strategies as st

from matrix_benchmarking import download_record, store
from matrix_benchmarking.download_record import Held, Record, Tree
from matrix_benchmarking.store import cache, codec, tree_index
from matrix_benchmarking.workload import load

CACHE = ".matbench_cache"


@pytest.fixture(autouse=True)
def user_cache(tmp_path_factory, monkeypatch) -> Path:
    directory = tmp_path_factory.mktemp("user-cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(directory))
    return Path(platformdirs.user_cache_dir("matbench"))


@pytest.fixture
def calls() -> list[str]:
    return []


@pytest.fixture
def tree(tmp_path) -> Path:
    write_test(tmp_path / "tree" / "a", {"vus": 1}, files=speed_files(2.0) | {"notes.txt": "x"})
    return tmp_path / "tree"


def parse(tree: Path, calls: list[str], **changes):
    return store.parse_tree(speed_workload(calls, **changes), tree)


def artifact(tree: Path) -> Path:
    return tree / "a" / "000__run" / RESULT_FILE


def test_a_second_parse_does_not_call_parse_once(tree, calls):
    first, second = parse(tree, calls), parse(tree, calls)
    assert calls == ["a"]
    assert (tree / "a" / CACHE).is_file()
    assert first.entries[0].kpis == second.entries[0].kpis == {"speed": 2.0}
    assert first.entries[0].test_uuid == second.entries[0].test_uuid
    assert second.entries[0].results.speed == 2.0


def test_parse_always_runs_each_time_and_is_not_cached(tree, calls):
    def parse_always(results, test_dir, import_settings):
        assert not hasattr(results, "extra")
        results.extra = (import_settings["vus"], test_dir.name)

    for _ in range(2):
        matrix = parse(tree, calls, parse_always=parse_always)
        assert matrix.entries[0].results.extra[0] == 1
    assert calls == ["a"]


def test_what_is_asked_for_after_a_parse_is_not_parsed_again(tree, calls):
    always = []
    for number in range(12):
        write_test(tree / f"t{number}", {"vus": number}, files=speed_files(2.0))
    matrix = parse(tree, calls, parse_always=lambda results, test_dir, settings: always.append(test_dir.name))
    for entry in matrix.entries:
        assert entry.results.speed == 2.0
        assert entry.lts.results.speed == 2.0
    assert len(always) == len(calls) == len(matrix.entries) == 13


def test_results_that_are_too_large_to_keep_are_loaded_again(tree, calls, monkeypatch):
    monkeypatch.setattr(tree_index, "_KEPT_BYTES", 0)
    for number in range(12):
        write_test(tree / f"t{number}", {"vus": number}, files=speed_files(float(number)))
    always = []
    matrix = parse(tree, calls, parse_always=lambda results, test_dir, settings: always.append(test_dir.name))
    assert sorted(entry.results.speed for entry in matrix.entries) == sorted([2.0, *map(float, range(12))])
    assert (len(calls), len(always)) == (13, 26)


def test_editing_an_artifact_makes_the_cache_stale(tree, calls):
    parse(tree, calls)
    artifact(tree).write_text('{"speed": 3.0}')
    assert parse(tree, calls).entries[0].kpis == {"speed": 3.0}
    assert calls == ["a", "a"]


def test_an_edit_that_keeps_size_and_time_apart_is_found_by_content(tree, calls):
    parse(tree, calls)
    artifact(tree).write_text('{"speed": 7.0}')  # the same size
    assert parse(tree, calls).entries[0].kpis == {"speed": 7.0}


def test_touching_an_artifact_does_not_make_the_cache_stale(tree, calls):
    parse(tree, calls)
    os.utime(artifact(tree), (1, 1))
    parse(tree, calls)
    assert calls == ["a"]


def test_touching_an_unrelated_file_does_not_make_the_cache_stale(tree, calls):
    parse(tree, calls)
    (tree / "a" / "notes.txt").write_text("changed")
    (tree / "a" / "new.txt").write_text("new")
    parse(tree, calls)
    assert calls == ["a"]


def test_adding_a_file_that_was_looked_for_makes_the_cache_stale(tree, calls):
    parse(tree, calls)
    (tree / "a" / ".uuid").write_text("5d9dbd0f-5a63-4b7b-9b0b-0b2f0c7f6b52\n")
    assert parse(tree, calls).entries[0].test_uuid == "5d9dbd0f-5a63-4b7b-9b0b-0b2f0c7f6b52"
    assert calls == ["a", "a"]


def test_a_new_directory_that_a_glob_matches_makes_the_cache_stale(tree, calls):
    parse(tree, calls)
    (tree / "a" / "001__run").mkdir()
    (tree / "a" / "001__run" / RESULT_FILE).write_text('{"speed": 5.0}')
    assert parse(tree, calls).entries[0].kpis == {"speed": 5.0}


def test_removing_one_artifact_of_two_makes_the_cache_stale(tree, calls):
    (tree / "a" / ".uuid").write_text("5d9dbd0f-5a63-4b7b-9b0b-0b2f0c7f6b52\n")
    (tree / "a" / "other").write_text("x")

    def parse_once(results, test_dir):
        calls.append("x")
        results.texts = [(test_dir / name).exists() for name in ("other", f"000__run/{RESULT_FILE}")]

    parse(tree, calls, parse_once=parse_once)
    (tree / "a" / "other").unlink()
    assert parse(tree, calls, parse_once=parse_once).entries[0].results.texts == [False, True]


def test_a_changed_setting_is_seen_without_parsing_again(tree, calls):
    parse(tree, calls)
    write_test(tree / "a", {"vus": 99})
    assert parse(tree, calls).entries[0].settings == {"vus": 99}
    (tree / "settings.yaml").write_text("model: m\n")
    assert parse(tree, calls).entries[0].settings == {"vus": 99, "model": "m"}
    assert calls == ["a"]


def test_the_exit_code_is_never_taken_from_the_cache_of_a_whole_directory(tree, calls):
    parse(tree, calls)
    (tree / "a" / "exit_code").write_text("3")
    assert parse(tree, calls).entries[0].exit_code == 3


def test_a_narrower_results_directory_inherits_fewer_settings(tree, calls):
    (tree / "settings.yaml").write_text("model: m\n")
    assert parse(tree, calls).entries[0].settings == {"vus": 1, "model": "m"}
    assert parse(tree / "a", calls).entries[0].settings == {"vus": 1}


def test_editing_the_workload_makes_the_cache_stale(tmp_path, tree):
    source = tmp_path / "my_workload.py"
    text = (
        "from matrix_benchmarking import kpi\n"
        "from matrix_benchmarking.store import BaseStore\n"
        "from matrix_benchmarking.workload import Workload\n"
        "def parse_once(results, test_dir):\n"
        "    results.value = 1\n"
        "@kpi.HigherBetter\n"
        "@kpi.KPIMetadata(help='value', unit='')\n"
        "def value(lts_payload):\n"
        "    return lts_payload.results.value\n"
        "workload = Workload(name='mine', store=BaseStore(parse_once=parse_once,"
        " models_kpis=kpi.collect([value])))\n"
    )
    source.write_text(text)
    assert store.parse_tree(load(str(source)), tree).entries[0].kpis == {"value": 1}
    source.write_text(text.replace("results.value = 1", "results.value = 2"))
    assert store.parse_tree(load(str(source)), tree).entries[0].kpis == {"value": 2}


@pytest.mark.parametrize("value", ["true", "1", "y", "yes", "True"])
def test_the_variable_makes_the_cache_ignored(tree, calls, monkeypatch, value):
    parse(tree, calls)
    monkeypatch.setenv("MATBENCH_STORE_IGNORE_CACHE", value)
    parse(tree, calls)
    assert calls == ["a", "a"]


@pytest.mark.parametrize("value", ["", "0", "no", "false"])
def test_other_values_of_the_variable_do_not(tree, calls, monkeypatch, value):
    monkeypatch.setenv("MATBENCH_STORE_IGNORE_CACHE", value)
    parse(tree, calls)
    parse(tree, calls)
    assert calls == ["a"]


def test_the_cache_of_another_workload_is_not_taken(tree, calls):
    parse(tree, calls)
    other = dataclasses.replace(speed_workload(calls), name="other")
    store.parse_tree(other, tree)
    assert calls == ["a", "a"]


def damage_checksum(content: bytes) -> bytes:
    return content[:-1] + bytes([content[-1] ^ 1])


def newer_format(content: bytes) -> bytes:
    return b"matbench" + (99).to_bytes(2, "big") + content[10:]


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (damage_checksum, "checksum is wrong"),
        (lambda content: content[: len(content) // 2], "checksum is wrong"),
        (lambda content: b"", "not a matbench cache"),
        (lambda content: b"\x80\x04\x95 a pickle", "not a matbench cache"),
        (newer_format, "format 99 is newer"),
    ],
    ids=["one bit", "truncated", "empty", "pickle", "newer"],
)
def test_a_broken_cache_is_a_note_and_a_new_parse(tree, calls, damage, sentence):
    parse(tree, calls)
    path = tree / "a" / CACHE
    path.write_bytes(damage(path.read_bytes()))
    matrix = parse(tree, calls)
    assert calls == ["a", "a"]
    assert matrix.entries[0].kpis == {"speed": 2.0}
    assert any("the cache is ignored" in note and sentence in note for note in matrix.notes)


def alone(tree: Path, destination: Path, *, settings: bool) -> Path:
    """The tree as a download of the caches leaves it."""
    (destination / "a").mkdir(parents=True)
    names = [CACHE, *(["settings.yaml", "exit_code"] if settings else [])]
    for name in names:
        shutil.copyfile(tree / "a" / name, destination / "a" / name)
    return destination


def downloaded(root: Path, *, subdirectory: str = "", fetched: bool = True, useless: bool = False) -> Path:
    """*root* with the record of a download that brought what is in its *subdirectory*."""
    tree = root / subdirectory
    files = {
        path.relative_to(tree).as_posix(): Held(size=path.stat().st_size, fetched=fetched, useless=useless)
        for path in tree.rglob("*")
        if path.is_file()
    }
    record = Record(format=1, trees=[Tree(subdirectory=subdirectory, address="/x", mode="cache_only", files=files)])
    download_record.save(root / download_record.RECORD_FILE, record)
    return root


@pytest.mark.parametrize("variable", ["", "true"])
@pytest.mark.parametrize("settings", [True, False], ids=["with settings", "cache only"])
def test_a_cache_that_a_download_brought_alone_is_loaded(tree, calls, tmp_path, settings, variable, monkeypatch):
    original = parse(tree, calls).entries[0]
    copy = downloaded(alone(tree, tmp_path / "downloaded", settings=settings))
    monkeypatch.setenv("MATBENCH_STORE_IGNORE_CACHE", variable)  # there is nothing else that could be parsed
    for _ in range(2):
        entry = parse(copy, calls).entries[0]
        assert calls == ["a"]
        assert (entry.settings, entry.kpis, entry.exit_code) == ({"vus": 1}, {"speed": 2.0}, 0)
        assert (entry.test_uuid, entry.from_cache_alone, entry.problems) == (original.test_uuid, False, ())
        assert entry.results.speed == 2.0


def test_part_of_a_downloaded_tree_has_its_record_above_it(tree, calls, tmp_path):
    parse(tree, calls)
    alone(tree, tmp_path / "all" / "night", settings=True)
    for root in (downloaded(tmp_path / "all", subdirectory="night"), tmp_path / "all/night", tmp_path / "all/night/a"):
        assert parse(root, calls).entries[0].kpis == {"speed": 2.0}


def is_known_from_its_cache_alone(matrix) -> None:
    """Its settings are, and nothing that was measured counts."""
    (entry,) = matrix
    assert (entry.settings, entry.exit_code, entry.from_cache_alone) == ({"vus": 1}, 0, True)
    assert (entry.kpis, entry.results.speed, entry.missing_files) == ({}, None, (f"*__run/{RESULT_FILE}", ".uuid"))
    assert list(entry.missing_kpis) == ["speed"]
    assert [str(problem) for problem in entry.problems] == ["known from its cache alone: its artifacts are not here"]


@pytest.mark.parametrize("variable", ["", "true"])
@pytest.mark.parametrize("settings", [True, False], ids=["with settings", "cache only"])
def test_a_cache_alone_that_no_download_brought_does_not_count_and_stays(
    tree, calls, tmp_path, settings, variable, monkeypatch
):
    parse(tree, calls)
    copy = alone(tree, tmp_path / "copy", settings=settings)
    content = (copy / "a" / CACHE).read_bytes()
    monkeypatch.setenv("MATBENCH_STORE_IGNORE_CACHE", variable)
    for _ in range(2):
        is_known_from_its_cache_alone(parse(copy, calls))
    assert store.clean(speed_workload(), copy) == 0
    assert (copy / "a" / CACHE).read_bytes() == content  # it can't be made again


def test_an_artifact_that_is_deleted_after_the_parse_counts_no_more_until_it_is_back(tree, calls):
    (original,) = parse(tree, calls)
    shutil.move(artifact(tree), tree / "elsewhere")
    is_known_from_its_cache_alone(parse(tree, []))
    shutil.move(tree / "elsewhere", artifact(tree))
    (entry,) = parse(tree, [])
    assert (entry.kpis, entry.test_uuid, entry.from_cache_alone) == ({"speed": 2.0}, original.test_uuid, False)


def test_so_does_one_whose_cache_is_in_the_users_directory(tree, calls):
    (tree / "a" / CACHE).mkdir()
    parse(tree, calls)
    artifact(tree).unlink()
    is_known_from_its_cache_alone(parse(tree, calls))


@pytest.mark.parametrize(
    "not_so",
    [
        lambda copy: downloaded(copy, fetched=False),
        lambda copy: downloaded(copy, useless=True),
        lambda copy: (downloaded(copy), (copy / download_record.RECORD_FILE).write_text("{")),
        lambda copy: (downloaded(copy), (copy / "a" / "exit_code").write_text("0"), (copy / "a" / "other").unlink()),
    ],
    ids=["not fetched", "useless", "damaged record", "a fetched file is gone"],
)
def test_a_record_that_does_not_say_so_is_none(tree, calls, tmp_path, not_so):
    parse(tree, calls)
    copy = alone(tree, tmp_path / "copy", settings=True)
    (copy / "a" / "other").write_text("x")
    not_so(copy)
    assert parse(copy, calls).entries[0].from_cache_alone


def test_artifacts_that_are_deleted_after_a_download_of_them_count_no_more(tree, calls):
    parse(tree, calls)
    downloaded(tree)
    artifact(tree).unlink()
    is_known_from_its_cache_alone(parse(tree, calls))


def test_a_cache_beside_artifacts_that_lost_its_settings_is_no_result(tree, calls):
    def parse_once(results, test_dir):
        results.speed = float((test_dir / "notes.txt").path.stat().st_size)
        results.text = (test_dir / "notes.txt").read_text()

    parse(tree, calls, parse_once=parse_once, important_files=[], artifact_dirnames=types.SimpleNamespace())
    for name in ("settings.yaml", "exit_code"):
        (tree / "a" / name).unlink()
    matrix = parse(tree, calls, parse_once=parse_once, important_files=[], artifact_dirnames=types.SimpleNamespace())
    assert not matrix.entries
    assert "has a cache and artifacts, and no settings.yaml" in str(matrix.unfinished[0].problems[0])


def test_a_downloaded_cache_that_cannot_be_read_is_left_for_who_can(tree, calls, tmp_path):
    parse(tree, calls)
    copy = downloaded(alone(tree, tmp_path / "downloaded", settings=True))
    path = copy / "a" / CACHE
    damaged = damage_checksum(path.read_bytes())
    path.write_bytes(damaged)
    assert any("the cache is ignored" in note for note in parse(copy, calls).notes)
    assert path.read_bytes() == damaged


def test_a_failure_for_want_of_a_package_is_not_kept(tree, calls):
    def parse_once(results, test_dir):
        calls.append("a")
        try:
            try:
                import no_such_package  # noqa: F401
            except ImportError as error:
                raise RuntimeError("can't be decoded") from error
        except RuntimeError as error:
            raise ValueError("can't be read") from error

    for _ in range(2):
        assert "can't be read" in str(parse(tree, calls, parse_once=parse_once).entries[0].problems[0])
    assert calls == ["a", "a"]


def test_a_broken_cache_that_came_alone_is_a_problem_that_is_named(tree, calls, tmp_path):
    parse(tree, calls)
    copy = alone(tree, tmp_path / "downloaded", settings=False)
    path = copy / "a" / CACHE
    path.write_bytes(damage_checksum(path.read_bytes()))
    matrix = parse(copy, calls)
    assert len(matrix) == 0
    assert "no artifacts beside it" in str(matrix.unfinished[0].problems[0])


def test_where_the_tree_cannot_be_written_caches_go_to_the_users_directory(tree, calls, user_cache):
    (tree / "a" / CACHE).mkdir()  # in the way of a file, for root too
    parse(tree, calls)
    parse(tree, calls)
    assert calls == ["a"]
    assert len(list(user_cache.rglob("*.cache"))) == 1


def test_where_no_cache_can_be_written_the_parse_goes_on_and_says_so_once(tree, calls, user_cache):
    write_test(tree / "b", {"vus": 2}, files=speed_files(3.0))
    for name in "ab":
        (tree / name / CACHE).mkdir()
    user_cache.parent.mkdir(parents=True, exist_ok=True)
    user_cache.write_text("in the way of a directory")
    matrix = parse(tree, calls)
    assert [entry.kpis["speed"] for entry in matrix] == [2.0, 3.0]
    assert [note for note in matrix.notes if "no cache is kept" in note] == [matrix.notes[0]]
    assert matrix.notes[0].startswith("a, b: no cache is kept")


def test_clean_removes_the_caches_wherever_they_are(tree, calls, user_cache):
    parse(tree, calls)
    assert store.clean(speed_workload(), tree) == 1
    assert not (tree / "a" / CACHE).exists()
    parse(tree, calls)
    assert calls == ["a", "a"]


def test_results_that_cannot_be_cached_are_parsed_and_named(tree):
    def parse_once(results, test_dir):
        results.value = object()

    matrix = store.parse_tree(speed_workload(parse_once=parse_once), tree)
    assert len(matrix) == 1
    assert any("no cache is kept: the results hold a builtins.object" in note for note in matrix.notes)
    assert not (tree / "a" / CACHE).exists()


def test_a_file_that_grows_while_it_is_parsed_is_not_cached(tree, calls):
    def parse_once(results, test_dir):
        calls.append("x")
        results.text = (test_dir / "notes.txt").read_text()
        with open(test_dir.path / "notes.txt", "a") as stream:
            stream.write("more")

    for _ in range(2):
        parse(tree, calls, parse_once=parse_once)
    assert calls == ["x", "x"]


def test_a_cache_holds_nothing_that_can_be_executed(tree, calls):
    parse(tree, calls)
    content = (tree / "a" / CACHE).read_bytes()
    assert content.startswith(b"matbench\0\4")
    assert b"\x80\x04\x95" not in content  # the start of a pickle


def test_clean_removes_the_cache_of_a_test_that_became_unfinished(tree, calls):
    parse(tree, calls)
    (tree / "a" / "exit_code").unlink()
    assert store.clean(speed_workload(), tree) == 1
    assert store.clean(speed_workload(), tree) == 0


@given(st.data())
@settings(max_examples=150)
def test_a_cache_with_any_byte_changed_is_refused(data):
    cached = cache.CachedTest(
        code=b"c" * 16,
        sources=[],
        globs=[],
        settings_sources=[],
        settings={"vus": 1},
        repeat=0,
        exit_code=0,
        own_uuid=None,
        problems=[],
        missing_files=[],
        notes=[],
        results=b"results",
    )
    content = bytearray(b"".join(cache.ENVELOPE.seal(("speed",), cached)))
    content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    with contextlib.suppress(codec.BrokenCache):
        assert cache.ENVELOPE.open(bytes(content), ("speed",), cache.CachedTest) is None  # taken for an older format
