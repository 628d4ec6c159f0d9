"""Dash's elements without the types of their attributes, which know no ``data-…`` and no ``aria-…``."""

from __future__ import annotations

from typing import Any

import dash
import dash_ag_grid  # here, because Dash has to know all component libraries before it serves the first page

html: Any = dash.html
dcc: Any = dash.dcc
AgGrid: Any = dash_ag_grid.AgGrid
