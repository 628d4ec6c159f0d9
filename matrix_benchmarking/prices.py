"""Which of the prices that somebody gave are those of the hardware of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

Shorter = Callable[[str], str | None]
"""What people call hardware of a longer name, such as ``H100`` of ``NVIDIA H100-SXM-80GB``; None for no known one."""


def offers(
    settings: Mapping[str, Any], prices: Mapping[str, float], shorter: Shorter | None = None
) -> dict[str, float]:
    """The *prices* of the hardware that *settings* name, by their names, whatever their case: its vendor's, else any
    vendor's; those of all vendors where the settings name none.

    A price of its *shorter* name is meant, too, unless there is one by the whole name.
    """
    whole = str(settings.get("hw_type"))
    for hardware in (whole, *filter(None, [shorter and shorter(whole)])):
        of_any = _called(prices, hardware)
        if "vendor" in settings:
            found = _called(prices, f"{settings['vendor']}/{hardware}") or of_any
        else:
            others = {
                name: price for name, price in prices.items() if name.casefold().endswith(f"/{hardware.casefold()}")
            }
            found = {**of_any, **others}
        if found:
            return found
    return {}


def _called(prices: Mapping[str, float], name: str) -> dict[str, float]:
    """The price of that name, else those of it in other cases."""
    alike = {each: price for each, price in prices.items() if each.casefold() == name.casefold()}
    return {name: alike[name]} if name in alike else alike


def unused_prices(
    runs: Iterable[Mapping[str, Any]], prices: Iterable[str], shorter: Shorter | None = None
) -> list[str]:
    """The names of *prices* of hardware that the settings of no run name."""
    kinds = {(str(one["hw_type"]), one.get("vendor")): one for one in runs if "hw_type" in one}.values()
    # Each by itself, since a nearer one hides another of the same hardware.
    return [name for name in prices if not any(offers(settings, {name: 0.0}, shorter) for settings in kinds)]
