"""Found by every Python process below a run under ``faketime``: a sleep that its library leaves alone.

It moves the end of ``time.sleep``, which Python gives to the system by the monotonic clock, to another day, so that the
system refuses it; see CONTRIBUTING.
"""

import select
import time


def _sleep(seconds: float) -> None:
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    select.select([], [], [], seconds)


time.sleep = _sleep
