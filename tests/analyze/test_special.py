"""SciPy's special functions are its own, whoever imports their package before or after."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import sys
import numpy as np
{before}
from matrix_benchmarking.analyze import special
names = "betaln digamma fdtrc gammaincinv gammaln log_ndtr ndtr ndtri polygamma stdtr stdtrit".split()
ours = [getattr(special, name) for name in names]
print("scipy.special" in sys.modules)
import scipy.special, scipy.stats
print(all(one is getattr(scipy.special, name) for one, name in zip(ours, names)))
print(scipy.stats.norm.cdf(0.0), special.polygamma(1, np.ones(2)))
try:
    special.no_function
except AttributeError as error:
    print(error)
"""


@pytest.mark.parametrize("before", ["", "import scipy.special"])
def test_they_are_those_of_the_package(before: str) -> None:
    script = SCRIPT.format(before=before)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    is_there, are_equal, works, none = done.stdout.splitlines()
    assert is_there == str(bool(before))
    assert are_equal == "True"
    assert works == "0.5 [1.64493407 1.64493407]"
    assert none == "module 'scipy.special' has no attribute 'no_function'"


def test_where_they_can_not_be_imported_by_themselves_the_package_is() -> None:
    before = "import builtins, importlib\nsaid = importlib.import_module\n"
    before += "def refuse(name, *others):\n    if name.endswith('_ufuncs'):\n        raise ImportError(name)\n"
    before += "    return said(name, *others)\nimportlib.import_module = refuse"
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(before=before)], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[:2] == ["True", "True"]
