"""A dataset on the Hugging Face Hub: one file of it, or a results tree there, through huggingface_hub.

HF_ENDPOINT names another Hub, HF_TOKEN the token for what isn't public.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from posixpath import basename, dirname
from typing import Any

from ..errors import ConfigError, DownloadError, needing
from .source import Directory, File, Readable, Source, Trouble, join

SCHEME = "hf://"
_DATASET = re.compile(r"hf://datasets/([\w.-]+/[\w.-]+?)(?:@([^/@]+))?(?:/(.+?))?/?")
_TRANSIENT_STATUS = frozenset({408, 429, 500, 502, 503, 504})


def parts(address: str) -> tuple[str, str | None, str]:
    """Owner and name, revision (None for the newest) and path of an *address*; ConfigError where it is none."""
    found = _DATASET.fullmatch(address)
    if found is None:
        raise ConfigError(f"'{address:.200}' is not hf://datasets/OWNER/NAME/PATH, with @REVISION after NAME if wanted")
    return found[1], found[2], found[3] or ""


def fetched(address: str) -> Path:
    """The local copy of one file, which huggingface_hub keeps.

    Raises:
        DownloadError: it can't be fetched.
    """
    name, revision, path = parts(address)
    if not path:
        raise ConfigError(f"'{address}' names a dataset and no file in it")
    with needing("an hf:// address", "benchmark", DownloadError):
        from huggingface_hub import hf_hub_download
    try:
        return Path(hf_hub_download(name, path, repo_type="dataset", revision=revision))
    except Exception as error:
        known = reason(error)
        if known is None:
            raise
        raise DownloadError(f"{address} can't be fetched: {known}") from error


class HubSource(Source):
    """Reads what is below the address, or the one file that it names."""

    errors: tuple[type[Exception], ...] = (OSError, ValueError, EOFError)

    def __init__(self, address: str) -> None:
        with needing("an hf:// address", "remote", DownloadError):
            from huggingface_hub import HfFileSystem, errors
        name, revision, path = parts(address)
        self.errors = (*HubSource.errors, errors.EntryNotFoundError, errors.HfHubHTTPError.__bases__[0])
        self._fs: Any = HfFileSystem(skip_instance_cache=True)
        self._root = f"datasets/{name}" + (f"@{revision.replace('/', '%2F')}" if revision else "")
        self._path = path

    def list(self, directory: str) -> Directory:
        path = self._full(directory)
        content = Directory()
        for entry in self._fs.ls(path, detail=True):
            is_directory = entry["type"] == "directory"
            if not directory and not is_directory and entry["name"] == path:
                self._path = dirname(self._path)
            name = join(directory, basename(entry["name"]))
            etag = (entry.get("lfs") or {}).get("sha256") or entry.get("blob_id")
            content.add(File(name, entry.get("size"), etag), is_directory=is_directory)
        return content

    @contextlib.contextmanager
    def open(self, file: File) -> Iterator[tuple[File, Readable]]:
        with self._fs.open(self._full(file.name), "rb", block_size=4 << 20) as stream:
            yield file, stream

    def _full(self, name: str) -> str:
        return "/".join(filter(None, (self._root, self._path, name)))

    def explain(self, error: Exception) -> Trouble:
        status = getattr(getattr(error, "response", None), "status_code", None)
        return Trouble(reason(error) or f"the request failed ({type(error).__name__})", status in _TRANSIENT_STATUS)


def reason(error: Exception) -> str | None:
    """Why the Hub gave nothing, in words for people; None for an error that is not the Hub's."""
    from huggingface_hub import errors

    if type(error) is FileNotFoundError and isinstance(error.__cause__, errors.HfHubHTTPError):
        return reason(error.__cause__)  # of HfFileSystem
    if isinstance(error, errors.GatedRepoError):
        return "the access is refused: HF_TOKEN has to be a token of somebody who may read it"
    if isinstance(error, errors.RepositoryNotFoundError):
        return "there is no such dataset, or it isn't public: HF_TOKEN is the token"
    if isinstance(error, errors.RevisionNotFoundError):
        return "there is no such revision"
    if isinstance(error, errors.LocalEntryNotFoundError):
        return "the Hub can't be reached, and it was not fetched before"
    if isinstance(error, (errors.EntryNotFoundError, FileNotFoundError)):
        return "there is no such file or directory in the dataset"
    status = getattr(getattr(error, "response", None), "status_code", None)
    if isinstance(error, errors.HfHubHTTPError):
        return f"the Hub answers with status {status}"
    module = type(error).__module__.partition(".")[0]
    if isinstance(error, ConnectionError) or module in ("httpx", "httpx2", "requests", "urllib3", "httpcore"):
        return f"the Hub can't be reached ({type(error).__name__})"
    if isinstance(error, (OSError, ValueError)):
        return f"{type(error).__name__}: {error}".splitlines()[0][:200]
    return None
