"""The stand-in for the paid service, and huggingface_hub pointed at it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from benchmark_support.fake_hf_api import TOKEN, FakeApi

from matrix_benchmarking.benchmark import hf_endpoint


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeApi]:
    """The service; the library's own constant says where it is."""
    from huggingface_hub import constants, hf_api

    monkeypatch.setenv("HF_TOKEN", TOKEN)
    for name in ("BACKOFF_S", "POLL_S"):
        monkeypatch.setattr(hf_endpoint, name, 0.02)
    with FakeApi() as service:
        monkeypatch.setattr(constants, "INFERENCE_ENDPOINTS_ENDPOINT", f"{service.url}/v2")
        monkeypatch.setattr(constants, "ENDPOINT", service.url)
        monkeypatch.setattr(hf_api.HfApi, "endpoint", service.url, raising=False)
        yield service
