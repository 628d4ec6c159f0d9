"""Options of a workload: what a command tells the parsers, by flag, environment and configuration file."""

from __future__ import annotations

import html
import itertools
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from matrix_benchmarking.cli import main

Capture = pytest.CaptureFixture[str]

WORKLOAD = """
from matrix_benchmarking.store import BaseStore
from matrix_benchmarking.workload import Workload

def parse_always(results, test_dir, import_settings):
    results.told = {name: test_dir.options[name] for name in ("warm_up", "share", "strict", "label")}

options = {"warm_up": 2, "share": 0.5, "strict": False, "label": "mean"}
store = BaseStore(parse_once=lambda results, test_dir: None, parse_always=parse_always)
workload = Workload(name="tiny", store=store, options=options)
"""


@pytest.fixture(autouse=True)
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("MATBENCH_") and "TEST" not in name]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    Path("tiny.py").write_text(WORKLOAD)
    Path("tree/run").mkdir(parents=True)
    Path("tree/run/settings.yaml").write_text("a: 1\n")
    Path("tree/run/exit_code").write_text("0\n")


def parse(*options: str) -> int:
    return main(["parse", "--workload=tiny.py", "--results-dirname=tree", "--output-matrix=m.json", *options])


def told() -> dict[str, object]:
    (entry,) = json.loads(Path("m.json").read_text())
    found: dict[str, object] = entry["results"]["told"]
    return found


def test_the_parsers_get_the_defaults_where_nothing_was_said():
    assert parse() == 0
    assert told() == {"warm_up": 2, "share": 0.5, "strict": False, "label": "mean"}


def test_a_flag_is_read_as_what_the_default_is():
    flags = ["warm_up=3", "share=1", "strict=true", "label=a=b"]
    assert parse(*(f"--workload-option={flag}" for flag in flags)) == 0
    assert told() == {"warm_up": 3, "share": 1.0, "strict": True, "label": "a=b"}


def test_flags_win_over_the_file_name_by_name_and_other_workloads_options_are_left_alone():
    Path("config.yaml").write_text("matbench: {workload_options: {warm_up: 7, label: median, of_another: 1}}")
    assert parse("--workload-option=warm_up=4") == 0
    assert told() == {"warm_up": 4, "share": 0.5, "strict": False, "label": "median"}


def test_the_environment_holds_several_separated_by_commas(monkeypatch):
    monkeypatch.setenv("MATBENCH_WORKLOAD_OPTION", "warm_up=5,label=x")
    assert parse() == 0
    assert (told()["warm_up"], told()["label"]) == (5, "x")


@pytest.mark.parametrize(
    ("flag", "said"),
    [
        ("warmup=3", "workload 'tiny' has no option 'warmup': did you mean 'warm_up'?"),
        (
            "warm_up=many",
            "the workload's option warm_up: expected a whole number, not the text 'many'; its default is 2",
        ),
        (
            "strict=perhaps",
            "the workload's option strict: expected true or false, not the text 'perhaps'; its default is false",
        ),
        ("warm_up=-1", "the workload's option warm_up: expected a number of at least 0, not the text '-1'"),
        ("share=nan", "the workload's option share: "),
        ("warm_up", "'warm_up' is not NAME=VALUE"),
        ("=3", "'=3' is not NAME=VALUE"),
    ],
)
def test_what_cannot_be_an_option_is_refused(flag, said, capsys: Capture):
    assert parse(f"--workload-option={flag}") == 2
    assert said in capsys.readouterr().err


def test_two_values_for_one_name_are_a_mistake(capsys: Capture):
    assert parse("--workload-option=warm_up=4", "--workload-option=warm_up=5") == 2
    assert "--workload-option: warm_up is given two values, 4 and 5" in capsys.readouterr().err
    assert parse("--price=a=4", "--price=a=5") == 2
    assert "--price: a is given two values, 4.0 and 5.0" in capsys.readouterr().err


def test_a_value_of_another_kind_in_the_file_is_refused(capsys: Capture):
    Path("config.yaml").write_text("matbench: {workload_options: {warm_up: 1.5}}")
    assert parse() == 2
    assert "warm_up: expected a whole number, not the number 1.5; its default is 2" in capsys.readouterr().err


PRICED = """
from matrix_benchmarking.kpi import collect, field_kpi
from matrix_benchmarking.store import BaseStore
from matrix_benchmarking.workload import Workload

def parse_always(results, test_dir, import_settings):
    results.time = test_dir.options["share"]
    results.cost = results.time * test_dir.options["prices"][import_settings["hw_type"]]

time = field_kpi("time", help="how long", unit="s", better="lower")
cost = field_kpi("cost", help="how dear", unit="USD", better="lower")
store = BaseStore(parse_once=lambda results, test_dir: None, parse_always=parse_always, models_kpis=collect())
workload = Workload(name="priced", store=store, options={"share": 1.0, "strict": False})
"""


def test_the_lines_for_a_notebook_open_what_the_command_was_given(monkeypatch: pytest.MonkeyPatch):
    Path("priced.py").write_text(PRICED)
    shutil.rmtree("tree")
    for name, vus in itertools.product(("small", "large"), (1, 2, 4)):
        Path(f"tree/{name}/{vus}").mkdir(parents=True)
        Path(f"tree/{name}/{vus}/settings.yaml").write_text(f"vus: {vus}\n")
        Path(f"tree/{name}/{vus}/exit_code").write_text("0\n")
    Path("config.yaml").write_text("matbench: {prices: {small: 1.0, large: 2.0, elsewhere: 3.0}}")
    monkeypatch.setenv("MATBENCH_CONFIG", "config.yaml")
    where = ["--workload=priced.py", "--results-dirname=tree", "--settings-from=tree/{hw_type}/{n}", "--headline=cost"]
    more = ["--price=large=8", "--workload-option=share=0.25", "--filters=vus=2:4", "--generate=Explore"]
    assert main(["visualize", *where, *more]) == 0
    told = re.search("Open in a notebook</summary>.*?<code>(.*?)</code>", Path("report/explore.html").read_text(), re.S)
    assert told is not None
    names: dict[str, Any] = {}
    exec(html.unescape(told[1]), names)
    frame = names["frame"].sort_values(["hw_type", "vus"])
    assert frame[["hw_type", "vus", "cost"]].values.tolist() == [
        ["large", 2, 2.0],
        ["large", 4, 2.0],
        ["small", 2, 0.25],
        ["small", 4, 0.25],
    ]
    assert names["runs"].study.headline_name == "cost"
