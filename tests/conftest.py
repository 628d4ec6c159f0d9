"""Fixtures shared by all tests: where the samples are, and what a missing component means."""

from __future__ import annotations

import functools
import gc
import os
import runpy
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import forked
import hypothesis
import pytest
from benchmark_support.fake_hf_api import TOKEN, FakeApi
from download_support import hub
from download_support.bucket import s3_server
from history_support.opensearch_server import OpenSearchServer
from history_support.postgresql_server import PostgreSQLServer
from plotting_support import app_process
from requirements import missing

from matrix_benchmarking.benchmark import hf_endpoint

REPOSITORY = Path(__file__).resolve().parent.parent

# What is imported stays: a quarter of the time of collecting went into looking through it again and again.
gc.set_threshold(50_000, 20, 50)

# Threads of a matrix product spin while they wait for cores that other tests have: training a model took seven times
# the work. numpy isn't imported yet; what tests start inherits it.
os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}

# How long an example takes says something of the machine only; each run tries others, so half of the usual do.
hypothesis.settings.register_profile("untimed", deadline=None, max_examples=50)
hypothesis.settings.load_profile("untimed")


def pytest_configure(config: pytest.Config) -> None:
    """Unpack the sample before a test, or a worker, looks for it."""
    if not hasattr(config, "workerinput"):
        runpy.run_path(str(REPOSITORY / "data" / "samples" / "unpack.py"), run_name="__main__")


@pytest.hookimpl(tryfirst=True)  # before xdist looks for groups
def pytest_collection_modifyitems(items: list[pytest.Function]) -> None:
    """Tests that share what their module makes once run in one worker: each would make it."""
    for item in items:
        fixtures = (definitions[-1] for definitions in item._fixtureinfo.name2fixturedefs.values())
        if item.get_closest_marker("xdist_group") is None and any(fixture.scope == "module" for fixture in fixtures):
            item.add_marker(pytest.mark.xdist_group(item.path.stem))


def pytest_collection_finish() -> None:
    """What is there before the first test is no garbage of a test's."""
    gc.freeze()


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the checkout."""
    return REPOSITORY


@pytest.fixture(scope="session")
def sample() -> Path:
    """The sample of encoder_bench."""
    return REPOSITORY / "data" / "samples" / "encoder_bench"


@pytest.fixture(scope="session")
def foreign_samples() -> Path:
    """Real data from elsewhere; its README says whose."""
    return REPOSITORY / "tests" / "data" / "elsewhere"


@pytest.fixture
def hub_tree(tmp_path: Path) -> Iterator[Path]:
    """The files of the dataset ``lab/runs`` on a local Hugging Face Hub."""
    pytest.importorskip("huggingface_hub")
    with hub.served(tmp_path) as tree:
        yield tree


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeApi]:
    """The stand-in for Inference Endpoints; the library's own constant says where it is."""
    from huggingface_hub import constants, hf_api

    monkeypatch.setenv("HF_TOKEN", TOKEN)
    for name in ("BACKOFF_S", "POLL_S"):
        monkeypatch.setattr(hf_endpoint, name, 0.02)
    with FakeApi() as service:
        monkeypatch.setattr(constants, "INFERENCE_ENDPOINTS_ENDPOINT", f"{service.url}/v2")
        monkeypatch.setattr(constants, "ENDPOINT", service.url)
        monkeypatch.setattr(hf_api.HfApi, "endpoint", service.url, raising=False)
        yield service


@pytest.fixture(scope="session")
def onnx_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the example servers' models are built, by the first test that needs one."""
    return tmp_path_factory.mktemp("onnx")


@pytest.fixture(scope="session")
def forked_matbench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """For the head of PATH: the folder of a ``matbench`` that starts at once."""
    with forked.commands(tmp_path_factory.mktemp("bin")) as folder:
        yield folder


@pytest.fixture(scope="session")
def application(forked_matbench: Path) -> Callable[..., AbstractContextManager[str]]:
    """``matbench visualize``, which starts at once: a context that gives its address."""
    return functools.partial(app_process.application, matbench=forked_matbench / "matbench")


@pytest.fixture(scope="module")
def s3_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log of the server of S3: one line a request."""
    return tmp_path_factory.mktemp("moto") / "log"


@pytest.fixture(scope="module")
def s3_endpoint(s3_log: Path) -> Iterator[str]:
    with s3_server(s3_log) as url:
        yield url


@pytest.fixture(scope="session")
def chromium() -> str:
    """Debian's browser, for the tests that look at pages: its headless shell takes a third of the time."""
    found = shutil.which("chromium-headless-shell")
    if found is None:
        missing("a browser; apt-get install chromium-headless-shell")
    return str(found)


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Any]:
    """Playwright's browser; under ``faketime`` a Chromium, and what drives it, take minutes to draw a page."""
    from playwright.sync_api import sync_playwright

    arguments = ["--no-sandbox", "--disable-background-networking"]
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("LD_PRELOAD", raising=False)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=arguments)
            patch.undo()
            yield browser
            browser.close()


@pytest.fixture(scope="module")
def tab(browser: Any) -> Any:
    """One tab of it, which may use the clipboard, for all visits to the application."""
    context = browser.new_context()
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    return context.new_page()


@pytest.fixture(scope="session")
def opensearch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenSearchServer]:
    """A genuine OpenSearch, one for all tests of this process; they are in the xdist group ``opensearch``."""
    server = OpenSearchServer(tmp_path_factory.mktemp("opensearch"))
    try:
        server.start()
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def postgresql() -> Iterator[PostgreSQLServer]:
    """A genuine PostgreSQL, one for all tests of this process; they are in the xdist group ``postgresql``."""
    server = PostgreSQLServer()
    try:
        server.start()
        yield server
    finally:
        server.stop()
