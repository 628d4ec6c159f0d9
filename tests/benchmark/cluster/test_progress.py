"""What a person at a terminal sees while several hosts measure."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from benchmark_support.fake_hf_api import TOKEN, FakeApi
from benchmark_support.machines import REPOSITORY, Machines

pytestmark = pytest.mark.xdist_group("cluster")


def shown(words: list[str], directory: Path) -> str:
    """All that ``matbench`` with these *words* writes to a terminal, from its first to its last moment."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": REPOSITORY, "COLUMNS": "200", "TERM": "xterm"}
    command = [sys.executable, "-m", "matrix_benchmarking", *words]
    with subprocess.Popen(command, cwd=directory, env=environment, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        said = b""
        try:
            while more := os.read(ours, 1 << 16):
                said += more
        except OSError:  # a terminal ends so
            os.close(ours)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", said.decode())
    assert process.returncode == 0, text
    return text


PATCH = """
from huggingface_hub import constants, hf_api
constants.INFERENCE_ENDPOINTS_ENDPOINT, constants.ENDPOINT = {url!r} + "/v2", {url!r}
hf_api.HfApi.endpoint = {url!r}
"""


def test_points_hosts_the_time_left_and_what_is_spent_are_seen_at_work(machines: Machines, place: Path, api: FakeApi):
    (place / "site").mkdir()
    (place / "site" / "sitecustomize.py").write_text(PATCH.format(url=api.url))
    paid = {"PYTHONPATH": f"{place}/site:{REPOSITORY}", "HF_TOKEN": TOKEN}
    machines.worker("a", "b", environment=paid)
    endpoint = {"repository": "a/b", "instance_type": "nvidia-l4", "name": "of-{n}"}
    file = {
        "expe": {"a": {"n": [1, 2], "repeat": 2}},
        "script_tpl": "sleep 1.5",
        "target": {"hf_endpoint": endpoint, "usd_per_hour": 60},
    }
    Path("b.yaml").write_text(yaml.safe_dump(file))
    text = shown(["benchmark", "b.yaml", "--results-dirname=r", "--run", f"--cluster={machines.address}"], place)
    assert {f"{done}/4" for done in range(4)} <= set(re.findall(r"\d/4", text))
    assert re.search(r"n_1__repeat_\d on [ab] ", text)
    states = re.findall(r"(\d) hosts?(?: · (\d\.\d\d) USD)?", text)
    assert {hosts for hosts, _ in states} >= {"1", "2"}
    spent = [float(usd) for _, usd in states if usd]
    assert spent == sorted(spent)
    assert 0.02 < spent[-1] < 1
    assert "left -:--:--" in text, "how long a point takes is known once some have run"
    assert re.search(r"left 0:\d\d:\d\d", text)
    assert "r: 4 points measured" in text
