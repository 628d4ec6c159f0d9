"""The layout that matbench writes itself: ``settings.yaml`` and ``exit_code`` in each test directory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import SettingsError, os_reason
from ..files import read_regular
from ..matrix import DID_NOT_FINISH
from ..settings import EXIT_CODE_FILE, SETTINGS_FILE, read_settings_file
from ..workload import FoundTest, Layout, Listing, Workload


class NativeLayout:
    """Tests are directories with a settings file and an exit code; parents' settings are inherited."""

    looks_for = f"directories with {SETTINGS_FILE} and {EXIT_CODE_FILE}"

    def find(self, listing: Listing) -> Sequence[FoundTest]:
        if SETTINGS_FILE not in listing.files:
            return ()
        return (FoundTest(listing.path, finished=EXIT_CODE_FILE in listing.files),)

    def settings_files(self, test: Path, root: Path) -> Sequence[str]:
        """The settings files of the results directory and all directories down to the test."""
        directory = str(root)
        files = [f"{directory}/{SETTINGS_FILE}"]
        for step in str(test)[len(directory) + 1 :].split("/"):
            if step:
                directory = f"{directory}/{step}"
                files.append(f"{directory}/{SETTINGS_FILE}")
        return files

    def read_settings(self, test: Path, root: Path) -> dict[str, Any]:
        merged: dict[str, Any] = {}
        for path in self.settings_files(test, root):
            merged.update(read_settings_file(path) or {})
        return merged

    def read_exit_code(self, test: Path) -> int | None:
        try:
            text = read_regular(f"{test}/{EXIT_CODE_FILE}", 64).decode("ascii", "replace").strip()
        except FileNotFoundError:
            reason = "is a link that leads nowhere, or was removed just now"
            raise SettingsError(f"{EXIT_CODE_FILE} {reason}") from None
        except OSError as error:
            raise SettingsError(f"{EXIT_CODE_FILE} can't be read: {os_reason(error)}") from error
        if not text:
            raise SettingsError(
                f"{DID_NOT_FINISH}: {EXIT_CODE_FILE} is empty, the run was interrupted while it was written"
            )
        try:
            return int(text)
        except ValueError:
            raise SettingsError(f"{EXIT_CODE_FILE} holds {text!r}, not a number") from None


_NATIVE: Sequence[Layout] = (NativeLayout(),)


def important_files(workload: Workload, layout: Layout) -> Sequence[str]:
    """The files that a test of this *layout* should have, as paths and globs: the layout's own, else the store's."""
    own: Sequence[str] | None = getattr(layout, "important_files", None)
    return workload.store.important_files if own is None else own


def declared_files(workload: Workload) -> list[str]:
    """All that the parsers may read, in whichever of the workload's layouts."""
    of_layouts = [name for layout in layouts_of(workload) for name in important_files(workload, layout)]
    return list(dict.fromkeys([*workload.store.important_files, *of_layouts, *workload.store.optional_files]))


def layouts_of(workload: Workload) -> Sequence[Layout]:
    """The workload's layouts; matbench's own where it names none."""
    return workload.store.layouts or _NATIVE
