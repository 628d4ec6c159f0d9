"""What is benchmarked: a URL that answers, a process that is started, a paid endpoint."""

from __future__ import annotations

from pathlib import Path

from .. import schema
from .hf_endpoint import HFEndpoint
from .servers import ProcessTarget, Target, UrlTarget


def make_target(spec: schema.Target, base: Path, results: Path, usd_per_hour: float | None) -> Target:
    """The target that *spec*, settings filled in, describes, not started; *base* is what its paths are relative to."""
    if spec.process is not None:
        return ProcessTarget(spec.process, base)
    if spec.hf_endpoint is not None:
        return HFEndpoint(spec.hf_endpoint, results, usd_per_hour)

    assert spec.url is not None
    return UrlTarget(schema.UrlTarget(url=spec.url) if isinstance(spec.url, str) else spec.url)
