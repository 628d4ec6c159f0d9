"""Every kind of analysis that is made by hand, for tests that hold of any."""

from __future__ import annotations

import pytest
from report_support.analyses import EVERY

from matrix_benchmarking.analyze.verdict.model import Analysis


@pytest.fixture(params=EVERY)
def any_analysis(request: pytest.FixtureRequest) -> Analysis:
    return EVERY[request.param]()
