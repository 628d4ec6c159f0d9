"""How long and how expensive a benchmark may become: a clock, and a meter that runs while a target does."""

from __future__ import annotations

import time

from ..errors import MatbenchError


class LimitReached(MatbenchError):
    """A limit that the user set is reached: what is finished stays, the rest is for another time."""


class Limits:
    """The limits of one run of the benchmark.

    Args:
        max_duration_s: no point is started after so many seconds.
        max_usd: what may be spent in all.
    """

    def __init__(self, max_duration_s: float | None = None, max_usd: float | None = None) -> None:
        self._deadline = None if max_duration_s is None else time.monotonic() + max_duration_s
        self._max_duration_s = max_duration_s
        self._max_usd = max_usd
        self._spent_usd = 0.0
        self._usd_per_hour = 0.0
        self._metered_since: float | None = None

    @property
    def spent_usd(self) -> float:
        """What the targets have cost until now."""
        running_s = 0.0 if self._metered_since is None else time.monotonic() - self._metered_since
        return self._spent_usd + running_s / 3600 * self._usd_per_hour

    def start_meter(self, usd_per_hour: float | None) -> None:
        """A target of this price begins to cost."""
        self.stop_meter()
        self._usd_per_hour = usd_per_hour or 0.0
        self._metered_since = time.monotonic()

    def stop_meter(self) -> None:
        """It costs no more. May be called twice."""
        self._spent_usd = self.spent_usd
        self._metered_since = None

    def check_money(self) -> None:
        """Raise LimitReached once more than allowed is spent."""
        if self._max_usd is not None and self.spent_usd >= self._max_usd:
            raise LimitReached(f"{self.spent_usd:.2f} USD are spent, the limit is {self._max_usd:g}")

    def check_start(self, point_s: float | None = None, usd_per_hour: float | None = None) -> None:
        """Raise LimitReached if no further point may be started, or one of *point_s* would go beyond a limit."""
        self.check_money()
        if self._deadline is not None and time.monotonic() + (point_s or 0.0) > self._deadline:
            raise LimitReached(f"the time limit of {self._max_duration_s:.0f} s is reached")
        if self._max_usd is not None and point_s and usd_per_hour:
            after = self.spent_usd + point_s / 3600 * usd_per_hour
            if after > self._max_usd:
                raise LimitReached(
                    f"{self.spent_usd:.2f} USD are spent, and one more point would go beyond {self._max_usd:g}"
                )
