"""The log of a target that serves several points: each point gets the part that was written during it."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from ..errors import OutputError, os_reason
from .environment import anonymous
from .run_directory import write_text

LONGEST_BYTES = 64 * 1024


class ServerLog:
    """A log file in *directory*, and how far it was copied.

    Raises:
        OutputError: it can't be made.
    """

    def __init__(self, directory: Path) -> None:
        try:
            directory.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=directory, prefix="server_", suffix=".log", delete=False) as stream:
                self.path = Path(stream.name)
        except OSError as error:
            raise OutputError(f"cannot write to {directory}: {os_reason(error)}") from error
        self._copied = 0

    def copy_to(self, place: Path, secrets: Sequence[str]) -> None:
        """Write what came since the last copy to *place*, its middle left out where it is long."""
        with self.path.open("rb") as stream:
            stream.seek(self._copied)
            content = stream.read()
        self._copied += len(content)
        if len(content) > LONGEST_BYTES:
            half = LONGEST_BYTES // 2
            left_out = f"\n… {len(content) - 2 * half:,} bytes left out …\n".encode()
            content = content[:half] + left_out + content[-half:]
        write_text(place, anonymous(content.decode("utf-8", "replace"), secrets))
