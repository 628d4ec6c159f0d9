"""SciPy's special functions, by their names there: it is imported when the first is asked for, .15 s."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    from scipy import special

    return getattr(special, name)
