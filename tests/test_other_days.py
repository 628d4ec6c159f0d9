"""Other days and zones: a leap day, the night to a new year, both ends of the date line, a change of summer time.

Each day is one process under Debian's ``faketime``, which does there what people do with alarms and old runs.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from requirements import missing

SCRIPT = """
import contextlib, datetime, io, json, sys
from matrix_benchmarking.cli import main

def said(*arguments):
    output, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        status = main([*arguments, "--history=sqlite:///releases.db"])
    return [status, output.getvalue() + errors.getvalue()]

def alarms():
    return {each["id"]: each["status"] for each in json.loads(said("alarms", "--format=json")[1])}

today = datetime.datetime.now(datetime.timezone.utc).date()
yesterday, tomorrow = today - datetime.timedelta(1), today + datetime.timedelta(1)
found = {"today": str(today), "imported": said("history", "import", sys.argv[1])}
found["analysed"] = said("analyze_lts", "--workload=encoder_bench", "--report-dest=report", "--exit-zero")
found["raised"] = alarms()
found["table"] = said("alarms")
first, second, third, *_ = found["raised"]
found["past"] = said("alarms", "ack", first, "--reason=known", f"--until={yesterday}")
found["today_ack"] = said("alarms", "ack", second, "--reason=known", f"--until={today}")
found["tomorrow_ack"] = said("alarms", "ack", third, "--reason=known", f"--until={tomorrow}")
found["again"] = said("analyze_lts", "--workload=encoder_bench", "--report-dest=report", "--exit-zero")
found["after"] = alarms()
found["pruned"] = said("history", "prune", "--before=1d")
print(json.dumps(found))
"""


@pytest.fixture
def on(repository: Path, tmp_path: Path) -> Any:
    """What the script finds at a moment in a zone."""
    if shutil.which("faketime") is None:
        missing("faketime; apt-get install faketime")

    def run(moment: str, zone: str) -> dict[str, Any]:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("MATBENCH_")}
        paths = [str(repository), str(repository / "tests" / "faketime_support")]
        environment |= {"TZ": zone, "PYTHONPATH": os.pathsep.join(paths), "XDG_CACHE_HOME": str(tmp_path / "cache")}
        environment["FAKETIME_DONT_FAKE_MONOTONIC"] = "1"
        history = repository / "data" / "samples" / "encoder_history" / "history.jsonl.gz"
        command = ["faketime", "-f", f"@{moment}", sys.executable, "-c", SCRIPT, str(history)]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    return run


@pytest.mark.parametrize(
    ("moment", "zone", "today"),
    [
        ("2028-02-29 12:00:00", "Pacific/Kiritimati", "2028-02-28"),
        ("2026-12-31 23:58:00", "Pacific/Pago_Pago", "2027-01-01"),
        ("2031-03-30 03:01:00", "Europe/Berlin", "2031-03-30"),
    ],
)
def test_alarms_are_raised_and_acknowledged_by_the_day_that_it_is_in_utc(
    on: Any, moment: str, zone: str, today: str
) -> None:
    found = on(moment, zone)
    assert found["today"] == today
    carried_out = ("imported", "analysed", "table", "today_ack", "tomorrow_ack", "again", "pruned")
    assert {name: found[name][0] for name in carried_out} == dict.fromkeys(carried_out, 0)
    assert len(found["raised"]) == 4
    assert found["table"][1].count(today) == 4
    assert found["past"][0] == 2
    assert "which is in the past" in found["past"][1]
    assert "which is over" not in found["today_ack"][1] + found["tomorrow_ack"][1]
    assert sorted(found["after"].values()) == ["acknowledged", "acknowledged", "open", "open"]
    assert found["after"].keys() == found["raised"].keys()
