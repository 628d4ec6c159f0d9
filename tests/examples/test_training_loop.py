"""The example training: its reader, its strategies, and what it writes."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import numpy
import pytest
from requirements import missing

from projects.training_bench.visualizations.store.logs import PARTS, parse_timings

STRATEGIES = ("plain", "blosc2", "float16", "ring-buffer")


@pytest.fixture(scope="module")
def script(repository: Path) -> Path:
    return repository / "examples" / "training_loop.py"


@pytest.fixture(scope="module")
def loop(script: Path) -> ModuleType:
    if importlib.util.find_spec("blosc2") is None:
        missing("blosc2; install the extra 'training'")
    spec = importlib.util.spec_from_file_location("training_loop", script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def data(loop: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("data")
    for kind in set(loop.FORMATS.values()):
        loop.data_set(directory, kind, 12)
    return directory


def loader(loop: ModuleType, data: Path, strategy: str, cache_bytes: int = 0):
    reader = loop.Reader(loop.TokenBucket(None), cache_bytes)
    return loop.Loader(loop.data_set(data, loop.FORMATS[strategy], 12), strategy, 5, reader, seed=3)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_gives_the_same_batches_in_the_same_order(loop, data, strategy):
    batches = loop.ahead if strategy == "ring-buffer" else loop.in_turn
    wanted = [(cubes.copy(), labels.copy()) for cubes, labels in loop.in_turn(loader(loop, data, "plain"))]
    given = [(cubes.copy(), labels.copy()) for cubes, labels in batches(loader(loop, data, strategy))]
    assert [len(cubes) for cubes, _ in given] == [5, 5, 2]
    exact = loop.FORMATS[strategy] != "float16"
    for (cubes, labels), (plain_cubes, plain_labels) in zip(given, wanted, strict=True):
        assert (labels == plain_labels).all()
        assert cubes.dtype == numpy.float32
        numpy.testing.assert_allclose(cubes, plain_cubes, rtol=0 if exact else 1e-3)


def test_compressed_files_are_much_smaller_and_half_precision_halves(loop, data):
    sizes = {kind: loop.data_set(data, kind, 12)[0].stat().st_size for kind in ("float32", "blosc2", "float16")}
    assert sizes["blosc2"] < 0.4 * sizes["float32"]
    assert sizes["float16"] < 0.51 * sizes["float32"]


def test_the_bucket_keeps_its_rate_and_saves_nothing_but_a_chunk(loop):
    bucket = loop.TokenBucket(4e6)
    time.sleep(0.3)
    started = time.monotonic()
    for _ in range(8):
        bucket.take(loop.CHUNK)
    elapsed = time.monotonic() - started
    assert elapsed >= 7 * loop.CHUNK / 4e6 * 0.99


def test_the_cache_holds_the_last_files_and_no_more_than_its_limit(loop, data):
    files = loop.data_set(data, "float16", 12)
    size = files[0].stat().st_size
    reader = loop.Reader(loop.TokenBucket(None), 3 * size)
    for path in (*files[:4], files[3], files[0]):
        reader.read(path)
    assert reader.hits == 1
    assert reader.read_bytes == 5 * size
    assert reader.used == sum(map(len, reader.cache.values())) <= 3 * size


def test_an_error_in_the_thread_that_reads_ahead_ends_the_training(loop, data):
    broken = loader(loop, data, "ring-buffer")
    broken.files = [*broken.files, data / "not there"]
    with pytest.raises(FileNotFoundError):
        list(loop.ahead(broken))


def test_a_gradient_step_lowers_the_loss(loop, data):
    network = loop.Network(0)
    cubes, labels = next(iter(loop.in_turn(loader(loop, data, "plain"))))
    losses = [network.step(cubes, labels) for _ in range(20)]
    assert losses[-1] < 0.8 * losses[0]


@pytest.mark.xdist_group("load")
@pytest.mark.parametrize("strategy", ["plain", "ring-buffer"])
def test_it_writes_what_the_workload_reads(loop, script, data, tmp_path, strategy):
    options = [f"--strategy={strategy}", "--io-speed=20", "--epochs=2", "--samples=12", f"--data={data}", "--rest-s=0"]
    done = subprocess.run(
        [sys.executable, str(script), *options, f"--output={tmp_path}"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    first, second = parse_timings((tmp_path / "timings.feather").read_bytes())
    assert (first.index, second.index) == (0, 1)
    for name in PARTS:
        assert getattr(second, name) is not None
    assert second.compute_s + second.wait_s == pytest.approx(second.duration_s)
    assert second.duration_s >= second.read_bytes / 20e6 * 0.9
    facts = json.loads((tmp_path / "training.json").read_text())
    assert facts["samples_per_epoch"] == 12
    assert facts["bytes_per_epoch"] == 12 * 64 * 64 * 32 * 4
    assert facts["peak_rss_bytes"] > 10**7
