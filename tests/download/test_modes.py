"""What each mode fetches of a real tree, and that ``matbench parse`` answers from it as from the original."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from matrix_benchmarking.cli import main
from matrix_benchmarking.download import addresses, session

CACHE = ".matbench_encoder_bench.cache"
COMPANIONS = {"settings.yaml", "exit_code", ".uuid", "environment.json"}
IMPORTANT = COMPANIONS | {
    "test_start_end.json",
    "000__server/server.json",
    "001__monitor/utilization.json",
    "002__k6__run/summary.json",
    "002__k6__run/timeseries.json",
    "002__k6__run/load_generator.json",
    "003__fidelity/fidelity.json",
}

Capture = pytest.CaptureFixture[str]


def kinds(names: set[str]) -> set[str]:
    """The names without the test directory, ``batch_8/vus_8__repeat_0``, that they are in."""
    return {name.split("/", 2)[2] for name in names}


def answer(root: Path | str, capsys: Capture) -> str:
    capsys.readouterr()
    assert main(["parse", f"--results-dirname={root}", "--workload=encoder_bench"]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("mode", "expected"),
    [("cache_only", COMPANIONS | {CACHE}), ("prefer_cache", COMPANIONS | {CACHE}), ("important", IMPORTANT)],
)
def test_a_mode_fetches_what_its_name_says(mode, expected, tree, download, files, capsys: Capture) -> None:
    assert download(tree, f"--mode={mode}") == 0
    assert kinds(files("here")) == expected
    assert len(files("here")) == 3 * len(expected)
    assert "of 3 tests" in capsys.readouterr().out


def test_all_fetches_everything_and_needs_no_workload(tree, download, files) -> None:
    (tree / ".hidden" / "deep").mkdir(parents=True)
    (tree / ".hidden" / "deep" / "notes.txt").write_text("x")
    (tree / "empty").mkdir()
    assert download(tree, "--mode=all", workload=None) == 0
    assert files("here") == files(tree)
    assert Path("here/empty").is_dir()
    for name in files(tree):
        assert Path("here", name).read_bytes() == (tree / name).read_bytes()


@pytest.mark.parametrize("mode", ["cache_only", "prefer_cache", "important", "all"])
def test_what_was_fetched_parses_to_the_same_answer(mode, tree, download, capsys: Capture) -> None:
    assert download(tree, f"--mode={mode}") == 0
    assert answer("here", capsys) == answer(tree, capsys)


def test_the_caches_of_the_whole_sample_parse_to_the_same_answer(sample, directory, download, capsys: Capture) -> None:
    original = Path(shutil.copytree(sample, directory / "original"))
    expected = answer(original, capsys)
    assert download(original, "--mode=cache_only") == 0
    assert "of 153 tests" in capsys.readouterr().out
    assert not list(Path("here").rglob("summary.json"))
    assert answer("here", capsys) == expected
    assert main(["parse", "--results-dirname=here", "--workload=encoder_bench", "--output-lts=lts.json"]) == 0
    assert len(json.loads(Path("lts.json").read_text())) == 153


def test_where_a_test_has_no_cache_its_artifacts_are_preferred_to_nothing(tree, download, files, capsys) -> None:
    bare = next(tree.rglob(CACHE)).parent
    (bare / CACHE).unlink()
    assert download(tree) == 0
    inside = f"{bare.relative_to(tree)}/"
    assert {name.removeprefix(inside) for name in files("here") if name.startswith(inside)} == IMPORTANT
    assert len(list(Path("here").rglob(CACHE))) == 2
    assert answer("here", capsys) == answer(tree, capsys)


def test_cache_only_leaves_a_test_without_a_cache_out_and_says_so(tree, download, files, capsys: Capture) -> None:
    bare = next(tree.rglob(CACHE)).parent
    (bare / CACHE).unlink()
    assert download(tree, "--mode=cache_only") == 0
    captured = capsys.readouterr()
    assert "1 of 3 tests have no cache" in captured.err
    assert "of 2 tests" in captured.out
    assert not any(name.startswith(f"{bare.relative_to(tree)}/") for name in files("here"))


def test_cache_only_of_a_tree_without_caches_is_an_error(tree, download, capsys: Capture) -> None:
    for cache in tree.rglob(CACHE):
        cache.unlink()
    assert download(tree, "--mode=cache_only") == 2
    assert "--mode prefer_cache or important" in capsys.readouterr().err


@pytest.mark.parametrize("mode", ["cache_only", "prefer_cache", "important"])
def test_inherited_settings_come_along_and_skipped_directories_do_not(mode, tree, download, files, capsys) -> None:
    (tree / "settings.yaml").write_text("campaign: nightly\n")
    skipped = next(tree.rglob("exit_code")).parent
    (skipped / "skip").touch()
    (tree / ".set_aside").mkdir()
    (tree / ".set_aside" / "settings.yaml").write_text("never: read\n")
    assert download(tree, f"--mode={mode}") == 0
    assert Path("here/settings.yaml").read_text() == "campaign: nightly\n"
    assert not any(name.startswith((f"{skipped.relative_to(tree)}/", ".set_aside/")) for name in files("here"))
    assert "of 2 tests" in capsys.readouterr().out


def test_an_unfinished_test_is_known_of_and_its_artifacts_are_left(tree, download, files, capsys: Capture) -> None:
    unfinished = next(tree.rglob("exit_code")).parent
    (unfinished / "exit_code").unlink()
    assert download(tree) == 0
    inside = f"{unfinished.relative_to(tree)}/"
    assert {name.removeprefix(inside) for name in files("here") if name.startswith(inside)} == {
        "settings.yaml",
        ".uuid",
        "environment.json",
    }
    assert "of 2 tests" in capsys.readouterr().out


def test_a_run_that_lost_its_settings_is_known_of_here_too(tree, download, files, capsys: Capture) -> None:
    lost = next(tree.rglob("exit_code")).parent
    for name in ("settings.yaml", CACHE):
        (lost / name).unlink()
    assert download(tree) == 0
    assert "of 2 tests" in capsys.readouterr().out
    answer("here", capsys)
    assert main(["parse", "--results-dirname=here", "--workload=encoder_bench", "--output-lts=lts.json"]) == 1
    assert f"{lost.relative_to(tree)}: has exit_code and no settings.yaml" in capsys.readouterr().err


def test_a_copy_among_the_artifacts_says_too_that_its_caches_came_alone(
    tree, download, directory, monkeypatch, capsys: Capture
) -> None:
    monkeypatch.setenv("ARTIFACT_DIR", str(directory / "artifacts"))
    assert download(tree, "--mode=cache_only", "--save-to-artifacts") == 0
    assert answer("artifacts/here", capsys) == answer(tree, capsys)


def test_an_artifact_directory_without_its_file_is_made_so_that_the_parse_chooses_the_same(tree, download) -> None:
    test = next(tree.rglob("exit_code")).parent
    (test / "010__k6__run").mkdir()
    assert download(tree, "--mode=important") == 0
    assert Path("here", test.relative_to(tree), "010__k6__run").is_dir()


def test_a_single_test_directory_can_be_the_address(tree, download, files) -> None:
    test = next(tree.rglob("exit_code")).parent
    assert download(test) == 0
    assert files("here") == COMPANIONS | {CACHE}


def test_the_study_s_flat_files_are_fetched_without_anything_else(foreign_samples, download, files, capsys) -> None:
    assert download(foreign_samples / "encoder_analysis", "--mode=important") == 0
    fetched = files("here")
    assert len(fetched) == 80
    assert all(name.endswith(".json") for name in fetched)
    assert "409.44" in answer("here", capsys)


def test_a_tree_without_tests_is_an_error_and_nothing_is_fetched(directory, download, files, capsys: Capture) -> None:
    (directory / "empty").mkdir()
    (directory / "empty" / "settings.yaml").write_text("x: 1\n")
    assert download("empty") == 2
    assert "no test found: workload 'encoder_bench' looks for directories with settings.yaml" in capsys.readouterr().err
    assert not files("here")


def test_a_cache_that_the_parse_could_not_read_is_replaced_by_the_artifacts(tree, download, files, capsys) -> None:
    expected = answer(tree, capsys)
    foreign = next(tree.rglob(CACHE))
    foreign.write_bytes(b"matbench" + (1).to_bytes(2, "big") + b"of another version")
    inside = f"{foreign.parent.relative_to(tree)}/"
    assert download(tree) == 0
    assert "1 of 3 caches are of another version" in capsys.readouterr().err
    assert {name.removeprefix(inside) for name in files("here") if name.startswith(inside)} == IMPORTANT
    assert answer("here", capsys) == expected
    assert download(tree) == 0
    assert "Fetched 0 files of 3 tests" in capsys.readouterr().out


def test_cache_only_says_which_caches_the_parse_will_not_read(tree, download, capsys: Capture) -> None:
    next(tree.rglob(CACHE)).write_bytes(b"not a cache")
    assert download(tree, "--mode=cache_only") == 0
    assert "1 of 3 caches are of another version" in capsys.readouterr().err


FOREIGN = """
import json
from matrix_benchmarking import kpi
from matrix_benchmarking.store import BaseStore, FoundTest, read_json
from matrix_benchmarking.workload import Workload

class Layout:
    looks_for = "run.json"
    def find(self, listing):
        return [FoundTest(listing.path)] if "run.json" in listing.files else []
    def settings_files(self, test, root):
        return [root / "campaign" / "common.json", test / "run.json", test / "meta" / "more.json"]
    def read_settings(self, test, root):
        return {k: v for path in self.settings_files(test, root) for k, v in json.loads(path.read_text()).items()}
    def read_exit_code(self, test):
        return 0

def parse(results, test_dir):
    results.rate = read_json(test_dir / "out" / "rate.json")["rate"]

@kpi.HigherBetter
@kpi.KPIMetadata(help="Rate", unit="1/s")
def rate(lts):
    return lts.results.rate

kpis = kpi.collect([rate])
store = BaseStore(parse_once=parse, important_files=["out/rate.json"], layouts=[Layout()], models_kpis=kpis)
workload = Workload(name="foreign", store=store)
"""


@pytest.mark.parametrize("mode", ["important", "prefer_cache", "cache_only"])
def test_the_settings_files_of_another_layout_come_along_wherever_they_are(mode, directory, download, files) -> None:
    Path("foreign.py").write_text(FOREIGN)
    for name in ("campaign/common.json", "a/run.json", "a/meta/more.json", "a/out/rate.json", "a/log", "a/meta/log"):
        Path("tree", name).parent.mkdir(parents=True, exist_ok=True)
        Path("tree", name).write_text(json.dumps({Path(name).stem: 1}))
    parse = ["parse", "--workload=foreign.py", "--output-matrix=m.json"]
    assert main([*parse, "--results-dirname=tree"]) == 0
    expected = json.loads(Path("m.json").read_text())
    assert download("tree", f"--mode={mode}", workload="foreign.py") == 0
    settings = {"campaign/common.json", "a/run.json", "a/meta/more.json"}
    assert files("here") == settings | {"a/out/rate.json" if mode == "important" else "a/.matbench_cache"}
    assert main([*parse, "--results-dirname=here"]) == 0
    (entry,) = json.loads(Path("m.json").read_text())
    assert entry["settings"] == {"common": 1, "run": 1, "more": 1}
    assert entry["results"] == expected[0]["results"]


def test_the_progress_goes_up_to_the_number_of_files(tree) -> None:
    seen: list[tuple[int, int]] = []
    places = [addresses.Place(addresses.parse(str(tree)))]
    for _ in range(2):
        session.download(places, None, Path("here"), max_bytes=10**9, jobs=4, progress=lambda *step: seen.append(step))
    total = sum(1 for path in tree.rglob("*") if path.is_file())
    assert seen == [(done, total) for done in range(1, total + 1)]


def test_a_changed_mode_adds_what_is_missing(tree, download, files, capsys: Capture) -> None:
    assert download(tree, "--mode=cache_only") == 0
    assert download(tree, "--mode=important") == 0
    assert kinds(files("here")) == IMPORTANT | {CACHE}
    assert "12 were here already" in capsys.readouterr().out
    assert answer("here", capsys) == answer(tree, capsys)


def test_links_in_a_local_tree_never_lead_out_of_it(tree, directory, download, files, capsys: Capture) -> None:
    (directory / "secret").write_text("secret")
    os.symlink(directory / "secret", tree / "stolen")
    os.symlink(directory, tree / "elsewhere")
    os.symlink("batch_8", tree / "again")
    os.symlink("nowhere", tree / "broken")
    (tree / "own").write_text("own")
    os.symlink("own", tree / "same")
    os.mkfifo(tree / "pipe")
    assert download(tree, "--mode=all") == 0
    fetched = files("here")
    assert Path("here/same").read_text() == "own"
    assert not Path("here/same").is_symlink()
    assert not {"stolen", "elsewhere", "again", "broken", "pipe"} & {name.split("/")[0] for name in fetched}
    assert capsys.readouterr().err.count("left out") == 5


def test_the_index_of_a_tree_comes_with_all_of_it_alone_and_may_replace_one_made_here(tree, download, files) -> None:
    index = ".matbench_index.encoder_bench"
    assert download(tree, "--mode=prefer_cache") == 0
    assert index not in files("here")
    (tree / index).rename(tree.parent / index)
    assert download(tree, "--mode=all", workload=None, to="whole") == 0
    assert main(["parse", "--results-dirname=whole", "--workload=encoder_bench"]) == 0
    (tree.parent / index).rename(tree / index)
    assert download(tree, "--mode=all", workload=None, to="whole") == 0
    assert (Path("whole") / index).read_bytes() == (tree / index).read_bytes()
