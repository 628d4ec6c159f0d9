"""What ``matbench visualize`` does where it writes pages, or their figures: which ones, and what it says of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..analyze.wording import analyses
from ..analyze.words import plural
from ..errors import VerdictError
from ..plotting import catalogue, explore, pictures
from ..plotting import plots_file as plots
from ..plotting.report_best import limited
from ..plotting.report_compare import CompareReport
from ..plotting.site import check_choices, write_site
from ..runs.answers import BestAnswer
from .options import configuration
from .printing import say

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..analyze.study import Study
    from ..plotting.site import Written
    from ..workload import Workload


def write_pages(
    read: Callable[[], Study],
    names: Sequence[str],
    report_dest: Path,
    *,
    single_file: bool,
    html: bool,
    drawn: Sequence[str],
    figure_size: tuple[int, int] | None,
    cfg: Mapping[str, str],
) -> None:
    """Write the pages *names* of the study that *read* gives, and *drawn* kinds of their figures; say what is best."""
    drawing = pictures.Pictures(pictures.find_browser(), drawn, figure_size) if drawn else None
    study = read()
    if cfg:
        check_choices(study, names, cfg)
    written = write_site(study, report_dest, names, single_file=single_file, html=html, drawing=drawing, cfg=cfg)
    for line in BestAnswer(limited(study, cfg)).verdict():
        say(line)
    if study.has_analysis and study.analysis is not None:  # a page of it was written
        say(analyses.headline(study.analysis))
        if analyses.is_untold(study.analysis):
            say(CompareReport(catalogue.catalogue_of(study)).summary())
    first = written.pages[0] if written.pages else report_dest / pictures.FOLDER
    say(f"Reports: {first} ({files_label(written)})")
    if written.failures:
        raise VerdictError("\n".join([*written.failures, "All other parts of the reports are there."]))


def files_label(written: Written) -> str:
    counts = ((len(written.pages), "page"), (len(written.pictures), "picture"))
    parts = [f"{count} {plural(count, word)}" for count, word in counts if count]
    return ", ".join([*(parts or ["no picture"]), f"{written.size_bytes / 1e6:.1f} MB"])


def listed(
    workload: Workload, generate: Sequence[str], generate_id: Sequence[str], plots_file: Path | None
) -> list[str]:
    """The pages that are named, or that *plots_file* lists, with the kept views; its pages that nobody listed are said.

    Raises:
        WorkloadError: a page of *workload* is none.
        ConfigError: nothing lists what is asked for.
    """
    catalogue.check(workload)
    plots_file = plots.found(plots_file, workload.source)
    names = plots.names(generate, generate_id, plots_file, workload.name)
    if names and not generate_id and not any(generate):
        names += explore.views(configuration().all_views, workload.name, {})
        own = [report.name for report in workload.pages()[1]]
        forgotten = [name for name in own if not {name, name.removeprefix("report: ")} & {*names}]
        if forgotten:
            listing = plots_file or plots.DEFAULT_FILE
            say(f"Not generated, as {listing} doesn't list it: {', '.join(forgotten)}.", err=True)
    return names
