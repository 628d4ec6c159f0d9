"""Children that a test interrupts, whoever runs the tests."""

from __future__ import annotations

import signal


def interruptible() -> None:
    """``preexec_fn`` of a child that shall hear of SIGINT.

    Whoever runs the tests may ignore it, as a shell does for a job in the background, and children inherit that.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
