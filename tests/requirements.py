"""What a test does when a real component or a sample that it needs is not there."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def missing(what: str) -> NoReturn:
    """Skip for want of a real component or sample; under MATBENCH_TEST_STRICT=1 that is a failure."""
    if os.environ.get("MATBENCH_TEST_STRICT") == "1":
        pytest.fail(f"MATBENCH_TEST_STRICT=1 and missing: {what}", pytrace=False)
    pytest.skip(f"missing: {what}", allow_module_level=True)
