"""The order of versions that somebody gives: in a file, or as the history of a git checkout."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

from ..analyze.select.order_sources import Explicit
from ..errors import ConfigError, os_reason
from ..files import read_regular

GIT = "git:"
GIT_TIMEOUT_S = 60.0
_TAG = "tag: "
_HASH = re.compile("[0-9a-f]{4,64}")
_DESCRIBED = re.compile("-g([0-9a-f]{4,64})(?:-dirty)?$")


def read_order(text: str | None) -> Explicit | None:
    """The order that *text*, a file or ``git:`` and a directory, names; None for none."""
    if not text:
        return None
    return of_git(Path(text.removeprefix(GIT))) if text.startswith(GIT) else of_file(Path(text))


def of_file(path: Path) -> Explicit:
    """The versions in the lines of a text file, the oldest first; empty lines and those that begin with # are none."""
    try:
        lines = [line.strip() for line in read_regular(path).decode("utf-8-sig").splitlines()]
    except OSError as error:
        raise ConfigError(f"`order`: cannot read '{path}': {os_reason(error)}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"`order`: '{path}' is no text file of versions: {error}") from error
    versions = [line for line in lines if line and not line.startswith("#")]
    if not versions:
        raise ConfigError(f"`order`: '{path}' holds no version; write one a line, the oldest first")
    twice = next((version for place, version in enumerate(versions) if version in versions[:place]), None)
    if twice is not None:
        raise ConfigError(f"`order`: '{path}' holds the version {twice} twice")
    places = {version: place for place, version in enumerate(versions)}
    return Explicit(f"the file {path}", places.get, versions, "add a line for each, where it belongs")


def of_git(directory: Path) -> Explicit:
    """The commits of the first-parent history of the checkout *directory*, by hashes, tags and ``git describe``."""
    lines = _git(directory, "log", "--first-parent", "--decorate-refs=refs/tags", "--format=%H%x00%D").splitlines()
    commits = [line.partition("\0") for line in reversed(lines)]
    hashes = [commit for commit, _, _ in commits]
    named = ((place, ref) for place, (_, _, refs) in enumerate(commits) for ref in refs.split(", "))
    tags = {ref.removeprefix(_TAG): place for place, ref in named if ref.startswith(_TAG)}
    advice = "check out the branch that they are on"
    if _git(directory, "rev-parse", "--is-shallow-repository").strip() == "true":
        advice = f"the checkout is shallow: fetch the rest with 'git -C {directory} fetch --unshallow --tags'"
    return Explicit(f"the first-parent history of {directory}", _finder(hashes, tags), [*tags, *hashes], advice)


def _finder(hashes: list[str], tags: dict[str, int]) -> Callable[[str], int | None]:
    """From a version as text to the place of its commit: a tag, with or without its v; a hash; what describe says."""

    def find(version: str) -> int | None:
        plain = version.removesuffix("-dirty")
        for name in (plain, f"v{plain}", plain.removeprefix("v")):
            if name in tags:
                return tags[name]
        described = _DESCRIBED.search(version)
        digits = described[1] if described is not None else version.lower()
        if not _HASH.fullmatch(digits):
            return None
        places = [place for place, commit in enumerate(hashes) if commit.startswith(digits)]
        return places[0] if len(places) == 1 else None

    return find


def _git(directory: Path, *arguments: str) -> str:
    """What git says; nothing of the repository's configuration runs a program, and nothing is fetched."""
    quiet = ["-c", "core.fsmonitor=false", "-c", "log.showSignature=false"]
    environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C"}
    command = ["git", "-C", str(directory), "--no-pager", *quiet, *arguments]
    try:
        done = subprocess.run(
            command, capture_output=True, check=False, timeout=GIT_TIMEOUT_S, env=environment, stdin=subprocess.DEVNULL
        )
    except FileNotFoundError as error:
        raise ConfigError("`order`=git:… needs git, which is not installed; give a file of versions instead") from error
    except subprocess.TimeoutExpired as error:
        raise ConfigError(f"`order`: git took more than {GIT_TIMEOUT_S:g} s in '{directory}'") from error
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["git says nothing more"]
        raise ConfigError(f"`order`: '{directory}' is no checkout whose history can be read: {said[0]}")
    return done.stdout.decode("utf-8", "replace")
