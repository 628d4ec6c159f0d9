"""Scripts under the eyes of the monitor, and what a recorded command tells of the machine."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from matrix_benchmarking.cli import main

BUSY = "import time\nend = time.time() + 1.2\nwhile time.time() < end: pass"


@pytest.fixture(autouse=True)
def directory(tmp_path, monkeypatch) -> Path:
    for name in [name for name in os.environ if name.startswith("MATBENCH_") and "TEST" not in name]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(script: Any) -> int:
    content = {"expe": {"a": {"x": 1}}, "script_tpl": script, "path_tpl": "a"}
    Path("b.yaml").write_text(yaml.safe_dump(content))
    return main(["benchmark", "b.yaml", "--results-dirname=r", "--run"])


@pytest.mark.xdist_group("load")
def test_the_machine_and_the_command_are_watched_while_it_runs():
    assert run({"command": [sys.executable, "-c", BUSY], "monitor": True}) == 0
    seen = json.loads(Path("r/a/001__monitor/utilization.json").read_text())
    window, count = seen["load_window"], len(seen["time"])
    assert count >= 8
    assert all(window["start"] <= moment <= window["end"] for moment in seen["time"])
    assert len(seen["cpus_load"]) == len(seen["main_memory"]) == len(seen["processes"]["script"]) == count
    assert sum(seen["processes"]["script"]) / count > 0
    assert "server" not in seen["processes"]


def test_a_command_that_fails_keeps_what_was_seen_of_it():
    assert (
        run({"command": [sys.executable, "-c", "import time, sys; time.sleep(0.4); sys.exit(3)"], "monitor": True}) == 1
    )
    assert len(json.loads(Path("r/a/001__monitor/utilization.json").read_text())["time"]) >= 1


def test_nothing_is_watched_unless_asked_for():
    assert run("true") == 0
    assert not Path("r/a/001__monitor").exists()


def test_the_recorded_command_does_not_name_the_place_of_the_results(directory):
    assert run({"command": "echo {test_dir}"}) == 0
    recorded = json.loads(Path("r/a/000__script/command.json").read_text())
    assert recorded["command"] == ["echo", "./r/a"]
    assert Path("r/a/000__script/stdout.log").read_text().strip() == str(directory / "r" / "a")
