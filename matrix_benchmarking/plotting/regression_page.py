"""An analysis as one HTML file that needs no other: its report, and plotly where there is a chart."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

from ..analyze.study import Study
from ..analyze.verdict.model import Analysis
from ..errors import MatbenchError
from ..files import atomic_write
from ..version import __version__
from . import page as pages
from .catalogue import Catalogue
from .index import INDEX_FILE
from .report_regression import RegressionReport
from .site import relative_address, report_page
from .slug import slug
from .static_html import plotly_script


def write_regression_page(analysis: Analysis, study: Study, destination: Path) -> Path:
    """Write *analysis* into ``index.html`` of the directory *destination*, and give its path.

    Args:
        study: the runs that were analysed.

    Raises:
        MatbenchError: the page can't be made or written.
    """
    study = Study(study.runs, study.workload, analysis=analysis)
    catalogue = Catalogue(study, lambda entry: relative_address(entry, destination))
    report = RegressionReport(catalogue)
    file = f"#{slug(report.name.removeprefix('report:'), 'report')}"
    page = report_page(report, file, catalogue.arguments())
    if page.failures:
        raise MatbenchError(page.failures[0])
    provenance = pages.Provenance(
        workload=study.workload.name,
        data=f"Data: {analysis.data}.",
        generated=analysis.made_at.astimezone(dt.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        version=__version__,
        check=analysis.check,
    )
    path = destination / INDEX_FILE
    with atomic_write(path, durable=False) as stream:
        stream.write(pages.render_single([page], provenance, plotly_script()).encode("utf-8", "replace"))
    return path
