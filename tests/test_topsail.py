"""A whole module in TOPSAIL's style, parsed, drawn, stored and judged; ``tests/topsail/tuning`` has it."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from matrix_benchmarking import store, topsail, workload
from matrix_benchmarking.analyze.study import Study
from matrix_benchmarking.cli import main
from matrix_benchmarking.errors import WorkloadError
from matrix_benchmarking.plotting.catalogue import catalogue_of

MODULE = Path(__file__).parent / "topsail" / "tuning"


@pytest.fixture(autouse=True)
def module(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(MODULE.parent)
    yield


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for day in range(1, 25):
        version, batch_size = f"2.{(day - 1) // 2}.0", 1 + day % 2
        test = tmp_path / "tree" / f"run_{day:02}"
        for name in ("003__run_tuning", "001__capture_state"):
            (test / name).mkdir(parents=True)
        settings = f"model_path: org/llama\nbatch_size: {batch_size}\nraw_lists: x\nversion: {version}\n"
        (test / "settings.yaml").write_text(settings)
        (test / "exit_code").write_text("0")
        (test / "config.yaml").write_text("tuning: {method: lora}")
        (test / "001__capture_state" / "version").write_text(version)
        tokens = batch_size * (1000 + day % 3) * (0.7 if day > 22 else 1)
        start, end = (f"2026-01-{day:02}T{hour}:00:00+00:00" for hour in (10, 11))
        job = {"start": start, "end": end, "tokens": tokens, "seconds": 10}
        (test / "003__run_tuning" / "job.json").write_text(json.dumps(job))
    return tmp_path / "tree"


def test_it_is_parsed_stored_drawn_and_judged(
    tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    results = ["--workload=tuning", f"--results-dirname={tree}"]
    assert main(["parse", *results, "--output-lts=lts.json"]) == 0
    first = json.loads((tmp_path / "lts.json").read_text())[0]
    labels = {"kpi_settings_version": "1.0", "model": "llama", "batch_size": 2, "version": "2.0.0"}
    assert first["kpis"]["tokens_per_second"]["labels"] == labels
    assert first["metadata"]["settings"] == labels
    assert main(["visualize", *results, "--generate=report: Speed of tuning", "--report-dest=report"]) == 0
    page = (tmp_path / "report" / "speed-of-tuning.html").read_text()
    assert "24 experiments, titled" in page
    assert "There is no plot" in page  # which the report asks for and nothing registers
    chosen = ["--generate=Speed", "--report-dest=speed", "--cfg=title=chosen"]  # a name that no control has
    assert main(["visualize", *results, *chosen]) == 0
    assert "24 experiments, chosen" in (tmp_path / "speed" / "speed.html").read_text()
    assert main(["upload_lts", *results, "--history=sqlite:///h.db"]) == 0
    capsys.readouterr()
    assert main(["analyze_lts", *results, "--history=sqlite:///h.db"]) == 0
    assert "2 suspected to be worse" in capsys.readouterr().out  # by one version alone


def test_its_edits_are_those_that_the_page_lists() -> None:
    page = (MODULE.parents[2] / "docs" / "coming-from-topsail.md").read_text().split("\n## A module as it stands")[1]
    edits = re.findall(r"^\| `(.+?)` \| (.+?) \|$", page, re.M)
    assert len(edits) == 4
    for place, said in edits:
        files = [MODULE / place] if place.endswith(".py") else list((MODULE / place).rglob("*.py"))
        source = "\n".join(file.read_text() for file in files)
        for edit in re.findall("`(.+?)`", said):
            what, _, names = edit.rpartition("import ")
            assert what in source
            assert [name for name in names.split(", ") if name not in source] == []


def test_a_missing_artifact_is_none_and_its_kpi_is_left_out(tree: Path) -> None:
    shutil.rmtree(tree / "run_01" / "003__run_tuning")
    matrix = store.parse_tree(workload.load("tuning"), tree)
    (bare,) = (entry for entry in matrix if entry.name == "run_01")
    assert bare.results.job is None
    assert "tokens_per_second" in bare.missing_kpis


def test_two_modules_in_one_process_each_have_their_own_run(tree: Path, tmp_path: Path) -> None:
    shutil.copytree(MODULE, tmp_path / "other_tuning")
    speed = tmp_path / "other_tuning" / "plotting" / "speed.py"
    speed.write_text(speed.read_text().replace("experiments,", "others,"))
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(tmp_path)
        both = [workload.load(name) for name in ("tuning", "other_tuning")]
        shutil.copytree(tree, tmp_path / "fewer")
        for day in range(2, 25):
            shutil.rmtree(tmp_path / "fewer" / f"run_{day:02}")
        places = [tree, tmp_path / "fewer"]

        def text(which: int) -> str:
            catalogue = catalogue_of(Study.of(store.parse_tree(both[which], places[which]), both[which]))
            return str(catalogue.plot("Speed").do_plot(*catalogue.arguments())[1])

        with ThreadPoolExecutor(2) as threads:
            said = list(threads.map(text, [0, 1] * 4))
    assert said == ["24 experiments, untitled", "1 others, untitled"] * 4


def test_globals_stand_for_nothing_where_no_run_is_under_way() -> None:
    with pytest.raises(WorkloadError, match="none is under way"):
        topsail.common.Matrix.count_records({}, [])


def test_a_parser_of_its_own_is_called_each_time(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "own_parser"
    (package / "store").mkdir(parents=True)
    made = "from matrix_benchmarking import topsail\nworkload = topsail.workload(__name__)\n"
    (package / "__init__.py").write_text(made)
    (package / "store" / "__init__.py").write_text("""
import types
from matrix_benchmarking.topsail import store_simple

def parse(add_to_matrix, dirname, import_settings):
    add_to_matrix(types.SimpleNamespace(doubled=2 * import_settings["batch_size"]))

store_simple.register_custom_parse_results(parse)
""")
    monkeypatch.syspath_prepend(tmp_path)
    assert {entry.results.doubled for entry in store.parse_tree(workload.load("own_parser"), tree)} == {2, 4}


def test_a_store_that_registers_no_parser_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "no_parser"
    (package / "store").mkdir(parents=True)
    (package / "store" / "__init__.py").write_text("")
    (package / "__init__.py").write_text(
        "from matrix_benchmarking import topsail\nworkload = topsail.workload(__name__)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(WorkloadError, match="registers no parser"):
        workload.load("no_parser")


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        (
            "store/__init__.py",
            '"model_path"',
            '"nothing"',
            "the workload's rewrite_settings stopped: there is no 'nothing'",
        ),
        ("plotting/speed.py", "def register()", "def other()", "the pages of workload 'mistaken' can't be imported"),
        (
            "models/kpi.py",
            "@matbench_models.HigherBetter",
            "",
            "'tokens_per_second' of mistaken.models.kpi needs a direct",
        ),
    ],
)
def test_a_mistake_of_a_module_is_a_sentence(
    tree: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    file,
    old,
    new,
    said,
) -> None:
    shutil.copytree(MODULE, tmp_path / "mistaken")
    source = (tmp_path / "mistaken" / file).read_text()
    (tmp_path / "mistaken" / file).write_text(source.replace(old, new))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(
        "sys.modules", {name: it for name, it in sys.modules.items() if not name.startswith("mistaken")}
    )
    results = ["--workload=mistaken", f"--results-dirname={tree}", f"--report-dest={tmp_path / 'report'}"]
    main(["visualize", *results, "--generate=Speed"])
    printed = capsys.readouterr().err
    assert said in printed
    assert "internal error" not in printed
