"""SciPy's special functions by their names there, without their package: its ``__init__`` takes .15 to .4 s of a start.

It looks for other kinds of arrays, of which each needs all of NumPy with its compiler of Fortran, and rewrites the
documentation of each function. The modules that hold the functions take .02 s; where they can't be imported by
themselves, in a SciPy to come, the package is.
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
import threading
import types
from collections.abc import Sequence
from typing import Any

_PACKAGE = "scipy.special"
_lock = threading.Lock()


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    with _lock:
        for module in _modules():
            if hasattr(module, name):
                globals()[name] = found = getattr(module, name)
                return found
    return getattr(importlib.import_module(_PACKAGE), name)


@functools.cache
def _modules() -> Sequence[types.ModuleType]:
    import scipy

    if _PACKAGE in sys.modules:
        return ()
    stand_in = types.ModuleType(_PACKAGE)
    stand_in.__path__ = [os.path.join(os.path.dirname(scipy.__file__), "special")]
    sys.modules[_PACKAGE] = stand_in
    try:
        return [importlib.import_module(f"{_PACKAGE}.{name}") for name in ("_ufuncs", "_basic")]
    except (ImportError, AttributeError):
        return ()
    finally:
        del sys.modules[_PACKAGE]  # whoever asks for the package gets it
