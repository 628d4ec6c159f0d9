"""Put the parts together and run a plan: lock, preconditions, load driver, targets, campaign."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..errors import ConfigError, MatbenchError
from ..files import only_one
from . import environment, hf_endpoint, processes
from .campaign import Campaign, Limits, Listener, Report
from .plan import Plan
from .run_directory import OWN_DIRECTORY, Point

LOCK_FILE = f"{OWN_DIRECTORY}/lock"


def run(
    plan: Plan,
    listener: Listener,
    *,
    max_duration_s: float | None = None,
    max_usd: float | None = None,
    stop_on_error: bool = False,
    repeat_command: Callable[[Point], str],
) -> Report:
    """Run what is not done of *plan*."""
    check_money(plan, max_usd)
    with only_one(plan.root / LOCK_FILE, plan.root, "benchmark"):
        for clean in (processes.end_leftovers, lambda: hf_endpoint.cleanup(plan.root)):
            for sentence in clean():
                listener.note(f"left behind by an earlier run: {sentence}")
        limits = Limits(max_duration_s, max_usd)
        driver = plan.driver(plan, limits, listener.rate)
        machine = environment.describe()

        def record(point: Point, description: Mapping[str, Any]) -> Mapping[str, Any]:
            known = {**machine["versions"], **description.get("versions", {}), **driver.versions}
            return {**machine, "versions": known, "command": repeat_command(point)}

        report = Campaign(plan, driver, limits, listener, record, stop_on_error).run()
        left = hf_endpoint.read_leases(plan.root)
        if left and not report.left_behind:
            names = ", ".join(f"{lease.namespace}/{lease.name}" for lease in left)
            report.left_behind.append(
                f"the endpoints {names} may still cost money: run matbench benchmark --cleanup "
                f"--results-dirname={plan.results}"
            )
        return report


def cleanup(root: Path) -> list[str]:
    """Tear down, and end, what earlier runs left behind; a sentence for each."""
    if not root.is_dir():
        raise MatbenchError(f"results directory '{root}' does not exist")
    with only_one(root / LOCK_FILE, root, "benchmark"):
        return [*processes.end_leftovers(), *hf_endpoint.cleanup(root)]


def check_money(plan: Plan, max_usd: float | None) -> None:
    """Raise ConfigError where the limit can't be kept, or is too low for the plan."""
    if max_usd is None:
        return
    for group in plan.groups():
        paid = group.target is not None and group.target.hf_endpoint is not None
        if paid and plan.usd_per_hour(group.target, group.settings) is None:
            raise ConfigError(
                "a limit in USD can't be kept without the target's price: give target.usd_per_hour in the benchmark "
                "file, or `prices` VENDOR/HW_TYPE=USD"
            )
    _, usd = plan.estimate()
    if usd is not None and usd > max_usd:
        raise ConfigError(
            f"the plan will cost about {usd:.2f} USD, more than the limit of {max_usd:g}: raise `max_usd`, or run less "
            "of it with `filters`"
        )
