"""``--order``: a file of versions, and the history of a genuine git checkout; and what is wrong with either."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from matrix_benchmarking.errors import ConfigError
from matrix_benchmarking.runs import versions as ordering


def git(directory: Path, *arguments: str) -> str:
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    for role in ("AUTHOR", "COMMITTER"):
        environment |= {f"GIT_{role}_NAME": "Ada", f"GIT_{role}_EMAIL": "ada@example.org"}
    command = ["git", "-C", str(directory), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return done.stdout.strip()


def commit(directory: Path, message: str) -> str:
    git(directory, "commit", "--allow-empty", "-q", "-m", message)
    return git(directory, "rev-parse", "HEAD")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Four commits on main, the second one tagged v1.2.0, the third a merge of a branch of one."""
    directory = tmp_path / "checkout"
    directory.mkdir()
    git(directory, "init", "-q", "-b", "main")
    commit(directory, "first")
    commit(directory, "second")
    git(directory, "tag", "v1.2.0")
    git(directory, "checkout", "-q", "-b", "side")
    commit(directory, "on the side")
    git(directory, "tag", "aside")
    git(directory, "checkout", "-q", "main")
    git(directory, "merge", "-q", "--no-ff", "-m", "merge", "side")
    commit(directory, "last")
    return directory


def test_commits_stand_in_the_first_parent_history(checkout: Path) -> None:
    hashes = git(checkout, "log", "--first-parent", "--format=%H", "--reverse").splitlines()
    found = ordering.read_order(f"git:{checkout}")
    assert found is not None
    assert found.source == f"the first-parent history of {checkout}"
    assert [found.find(commit) for commit in hashes] == [0, 1, 2, 3]
    assert [found.find(commit[:7]) for commit in hashes] == [0, 1, 2, 3]
    assert [found.find(f"v1.2.0-2-g{commit[:7]}") for commit in hashes] == [0, 1, 2, 3]
    assert found.find(f"v1.2.0-2-g{hashes[3][:7]}-dirty") == 3
    assert found.find("v1.2.0") == found.find("1.2.0") == 1
    for unknown in ("aside", "main", hashes[0][:3], "0" * 40, "1.3.0", ""):
        assert found.find(unknown) is None


def test_nothing_of_the_repository_runs(checkout: Path, tmp_path: Path) -> None:
    touched, program = tmp_path / "touched", tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {touched}\n")
    program.chmod(0o755)
    for key in ("core.fsmonitor", "core.pager", "gpg.program", "core.sshCommand"):
        git(checkout, "config", key, str(program))
    git(checkout, "config", "log.showSignature", "true")
    git(checkout, "config", "log.excludeDecoration", "*")
    found = ordering.read_order(f"git:{checkout}")
    assert found is not None
    assert found.find("v1.2.0") == 1
    assert not touched.exists()


def test_a_shallow_checkout_says_how_to_get_the_rest(checkout: Path, tmp_path: Path) -> None:
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{checkout}", str(shallow))
    found = ordering.read_order(f"git:{shallow}")
    assert found is not None
    assert "fetch --unshallow" in found.advice


@pytest.mark.parametrize("place", ["nowhere", "."])
def test_what_is_no_checkout_is_a_sentence(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(ConfigError, match=f"`order`: '{place}' is no checkout whose history can be read"):
        ordering.read_order(f"git:{place}")


def test_without_git_a_file_is_advised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match="needs git, which is not installed; give a file of versions instead"):
        ordering.read_order(f"git:{tmp_path}")


def test_a_file_has_one_version_a_line(tmp_path: Path) -> None:
    file = tmp_path / "releases.txt"
    file.write_text("# oldest first\n\nzebra\n ant \r\n", encoding="utf-8-sig")
    found = ordering.read_order(str(file))
    assert found is not None
    assert [found.find(version) for version in ("zebra", "ant", "bee")] == [0, 1, None]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\n# nothing\n", "holds no version; write one a line, the oldest first"),
        (b"a\nb\na\n", "holds the version a twice"),
        (b"\xff\xfe", "is no text file of versions"),
        (None, "cannot read"),
    ],
)
def test_a_file_that_is_no_order_is_a_sentence(content: bytes | None, said: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "releases.txt").write_bytes(content)
    with pytest.raises(ConfigError, match=f"`order`: .*{said}"):
        ordering.read_order(str(tmp_path / "releases.txt"))


def test_nothing_given_is_no_order() -> None:
    assert ordering.read_order(None) is None
