"""Plots and reports of a matrix, and their static HTML pages.

A workload's author needs :class:`Plot`, :class:`Report` or :class:`PlotsReport`, :func:`set_config` and what is in
``tables`` and ``template``; a plot or a report is a class with a ``name`` and a ``draw(self, view)``.
"""

from __future__ import annotations

from .base import Arguments, Drawn, Plot, PlotsReport, Report, View, set_config
from .controls import Choice, Control, Number, RunChoice

__all__ = [
    "Arguments",
    "Choice",
    "Control",
    "Drawn",
    "Number",
    "Plot",
    "PlotsReport",
    "Report",
    "RunChoice",
    "View",
    "set_config",
]
