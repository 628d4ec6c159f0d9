"""An analysis is printed and written as reports, by numpy and what draws pages; its verdict is the exit status."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import click
import msgspec

from ..analyze import check
from ..analyze.report.ci import error_lines, summary_yaml, write, write_reports
from ..analyze.report.markdown import capped, markdown
from ..analyze.study import Study
from ..analyze.verdict.model import Analysis
from ..analyze.wording.analyses import broken, headline, lead
from ..errors import ConfigError, VerdictError, os_reason
from ..runs import judging
from ..runs.answers import AnalysisAnswer
from ..workload import Workload
from .options import is_typed
from .printing import say, show, warn, with_flags
from .shared_options import SUSPECTED, AnalysisOutput

SUMMARY_LIMIT_BYTES = 2**20
"""GitHub refuses the summary of a step that is larger."""
_CUT = "The summary of this step is full: the rest of the analysis is in regression.md.\n"


def check_kpi_filter(patterns: Sequence[str], workload: Workload) -> None:
    """Raise ConfigError where a person typed a name of no KPI; the analysis notes one out of the configuration."""
    if is_typed("kpi_filter"):
        judging.check_kpi_filter(patterns, workload)


def publish(
    analysis: Analysis, study: Study, output: AnalysisOutput, *, is_pair: bool = False, err: bool = False
) -> None:
    """Print the analysis, to stderr with *err*, write its reports, tell the CI service; a bad verdict is an error."""
    answer = check.AnswerKind.PAIR if is_pair else check.AnswerKind.HISTORY
    silent = [msgspec.structs.replace(one, reason=with_flags(one.reason)) for one in analysis.not_analysed]
    is_enough = output.fail_on == SUSPECTED
    analysis = msgspec.structs.replace(
        analysis,
        not_analysed=silent,
        fails_on_suspected=is_enough,
        fails_more=(*analysis.fails_more, *(analysis.may_fail_more if is_enough else ())),
        may_fail_more=() if is_enough else analysis.may_fail_more,
    )
    shown = AnalysisAnswer.of(analysis, study, answer, elsewhere="--report-dest writes them all")
    analysis = shown.analysis
    if err:
        say(" ".join([*lead(analysis), check.line(analysis.check)]), err=True)
    else:
        show(shown)
    if output.report_dest is not None:
        from ..plotting.site import link_beside, write_regression_page  # dash: a third of a second

        page = write_regression_page(analysis, study, output.report_dest)
        written = write_reports(analysis, output.report_dest)
        link_beside(output.report_dest.absolute().parent)
        say(f"Reports: {page} and {len(written)} files for CI services beside it", err=err)
    if output.summary_yaml_dest is not None:
        write(output.summary_yaml_dest, summary_yaml(analysis))
    tell_ci(analysis)
    if not analysis.verdicts:
        reasons = "; ".join(dict.fromkeys([one.reason for one in analysis.not_analysed[:3]] or analysis.notes[:3]))
        raise ConfigError(f"nothing could be analysed{f': {reasons}' if reasons else ''}")
    if analysis.failed and not output.exit_zero:
        unjudged = broken(analysis)
        lines = [headline(analysis)] if analysis.failures > len(unjudged) else []
        raise VerdictError("\n".join([*lines, *(one.rstrip(".") for one in unjudged)]))


def tell_ci(analysis: Analysis, environment: Mapping[str, str] = os.environ) -> None:
    """Append the analysis to the summary of a GitHub job, as far as it fits, and print its ``::error`` lines."""
    summary = environment.get("GITHUB_STEP_SUMMARY")
    if summary:
        try:
            with Path(summary).open("ab") as stream:
                size = stream.tell()
                content = f"\n{markdown(analysis)}" if size else markdown(analysis)
                stream.write(capped(content, max(SUMMARY_LIMIT_BYTES - size, 0), _CUT).encode())
        except (OSError, ValueError) as error:  # ValueError: a null byte in the name
            reason = os_reason(error) if isinstance(error, OSError) else str(error)
            warn([f"the summary of this step can't be written to {summary}: {reason}"])
    if environment.get("GITHUB_ACTIONS") == "true":
        for line in error_lines(analysis):
            click.echo(line)
