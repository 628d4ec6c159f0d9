"""Addresses of results trees: what may be given, what of it may be shown, and files that list several."""

from __future__ import annotations

import dataclasses
import itertools
import os
import re
import urllib.parse
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pydantic

from ..config import Section
from ..errors import ConfigError, os_reason
from ..files import unsafe
from ..yaml_file import BrokenYaml, load_yaml
from . import hub
from .source import shown

ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar.zst", ".tzst")
SCHEMES = ("file", "http", "https", "s3", "hf")
KNOWN = "a directory or an archive, by its path or at file://, http://, https://, s3:// or hf://datasets/"


@dataclasses.dataclass(frozen=True, slots=True)
class Address:
    """Where a tree is.

    Attributes:
        scheme: ``file``, ``http``, ``https``, ``s3`` or ``hf``.
        location: what is opened: a path, a URL, or bucket and key. It may be signed, so it is never shown.
        public: the address without what may be secret.
        archive: the suffix of an archive's name; empty for a directory.
    """

    scheme: str
    location: str = dataclasses.field(repr=False)
    public: str
    archive: str = ""

    @property
    def name(self) -> str:
        """A readable name for a directory of its own, the same each time: ``host_runs_night-12``."""
        text = self.public.partition("://")[2] or self.public
        text = text[: len(text) - len(self.archive)]
        name = re.sub(r"[^A-Za-z0-9.-]+", "_", text).strip("._-")
        return name[-200:].lstrip("._-") or "results"


class Place(msgspec.Struct, frozen=True):
    """A tree and the directory below the destination that it goes to; empty for the destination itself."""

    address: Address
    subdirectory: str = ""


def parse(text: str) -> Address:
    """The address in *text*.

    Raises:
        ConfigError: it can't be understood, or holds a user name or password. The sentence repeats neither.
    """
    text = text.strip()
    if not text or any(not char.isprintable() for char in text):
        raise ConfigError(f"an empty address, or one with control characters: give {KNOWN}")
    scheme, separator, rest = text.partition("://")
    if not separator:
        return _local(text)
    scheme = scheme.lower()
    if scheme not in SCHEMES:
        raise ConfigError(f"can't download from {scheme[:20]}:// addresses: give {KNOWN}")
    if scheme == "file":
        host, slash, path = rest.partition("/")
        if host not in ("", "localhost") or not slash:
            raise ConfigError("a file:// address is file:///absolute/path")
        return _local(urllib.parse.unquote(f"/{path}"))
    _refuse_credentials(scheme, rest)
    if scheme == "hf":
        hub.parts(text)
        return Address("hf", text, text.rstrip("/"))
    return _s3(rest) if scheme == "s3" else _http(scheme, rest)


def read_list(path: Path) -> list[Place]:
    """The places that a file lists, one a line: an address and, if wanted, a subdirectory of the destination.

    A .yaml file has them as MatrixBenchmarking's: ``download: [{url: …, dest_dir: …}, {files: [others.yaml]}]``.

    Raises:
        ConfigError: the file can't be read, or a line is wrong; every such line is named.
    """
    places: list[Place] = []
    problems: list[str] = []
    for where, words in _of_yaml(path) if path.suffix in (".yaml", ".yml") else _lines(path):
        try:
            place = _place(words)
            _check_apart(place, places)
        except ConfigError as error:
            problems.append(f"{where}: {error}")
        else:
            places.append(place)
    if problems:
        raise ConfigError("\n".join(problems))
    if not places:
        raise ConfigError(f"{path} lists no address")
    return places


def _lines(path: Path) -> Iterator[tuple[str, list[str]]]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {os_reason(error)}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8 text") from error
    for number, line in enumerate(lines, 1):
        words = list(itertools.takewhile(lambda word: not word.startswith("#"), line.split()))
        if words:
            yield f"{path}:{number}", words


class _Entry(Section):
    """A tree, or the names of files with lists of trees."""

    url: str = ""
    dest_dir: str | None = None
    settings: dict[str, object] | None = None
    files: Sequence[str] = ()


def _of_yaml(path: Path, above: tuple[Path, ...] = ()) -> Iterator[tuple[str, list[str]]]:
    try:
        content = load_yaml(path.read_bytes())
        listed = content.get("download") if isinstance(content, dict) else content
        entries = pydantic.TypeAdapter(list[_Entry]).validate_python(listed)
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {os_reason(error)}") from error
    except BrokenYaml as error:
        raise ConfigError(f"{path}: {error}") from error
    except pydantic.ValidationError as error:
        wrong = error.errors()[0]
        place = ".".join(map(str, wrong["loc"]))
        form = "download: [{url: …, dest_dir: …}]"
        raise ConfigError(f"{path}: not of the form {form}: {place}: {wrong['msg'].lower()}") from error
    for number, entry in enumerate(entries, 1):
        where = f"{path}: entry {number}"
        for name in entry.files:
            other = (path.parent / name).resolve()
            if other in above:
                raise ConfigError(f"{where}: {name} lists itself")
            yield from _of_yaml(other, (*above, other))
        if entry.settings:
            names = ", ".join(entry.settings)
            raise ConfigError(f"{where}: a download adds no settings ({names}): write a settings.yaml above the tests")
        if entry.url or not entry.files:
            yield where, [entry.url, *([entry.dest_dir] if entry.dest_dir else [])]


def _place(words: list[str]) -> Place:
    address = parse(words[0])
    if len(words) > 2:
        raise ConfigError("more than an address and a subdirectory; a space in an address is written %20 (file://…)")
    subdirectory = words[1].strip("/") if len(words) == 2 else address.name
    reason = unsafe(subdirectory)
    if reason is None and any(part.startswith(".") for part in subdirectory.split("/")):
        reason = "hidden directories are not searched for tests"
    if reason is not None:
        raise ConfigError(f"{shown(subdirectory)} can't be a subdirectory: {reason}")
    return Place(address, subdirectory)


def _check_apart(place: Place, others: list[Place]) -> None:
    for other in others:
        if overlap(place.subdirectory, other.subdirectory):
            raise ConfigError(
                f"would go to {place.subdirectory}, where {other.address.public} goes ({other.subdirectory}): "
                "write another subdirectory after the address"
            )


def overlap(one: str, other: str) -> bool:
    """True if two subdirectories are the same, or one is in the other."""
    one, other = f"{one}/".lstrip("/"), f"{other}/".lstrip("/")
    return one.startswith(other) or other.startswith(one)


def _local(path: str) -> Address:
    absolute = os.path.abspath(path)
    return Address("file", absolute, absolute, _archive(absolute))


def _s3(rest: str) -> Address:
    bucket, _, key = rest.partition("/")
    key = key.strip("/")
    if not bucket:
        raise ConfigError("an s3:// address is s3://bucket/prefix")
    location = f"{bucket}/{key}" if key else bucket
    return Address("s3", location, f"s3://{location}", _archive(key))


def _http(scheme: str, rest: str) -> Address:
    try:
        url = urllib.parse.urlsplit(f"{scheme}://{rest}")
        host, port = url.hostname, url.port
    except ValueError:
        host = None
    if not host:
        raise ConfigError(f"a web address is {scheme}://host/path")
    archive = _archive(url.path)
    if url.query and not archive:
        raise ConfigError(
            f"the address at {host} has a query (?…): only that of an archive ({', '.join(ARCHIVES)}) may have one"
        )
    path = urllib.parse.quote(url.path, safe="/%:@!$&'()*+,;=~-._")
    path = path if archive else f"{path.rstrip('/')}/"
    name = f"[{host}]" if ":" in host else host
    public = f"{scheme}://{name}{f':{port}' if port else ''}{path}"
    return Address(scheme, f"{public}?{url.query}" if url.query else public, public, archive)


def _refuse_credentials(scheme: str, rest: str) -> None:
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    if "@" not in authority:
        return
    if scheme == "s3":
        where = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or ~/.aws/credentials"
    else:
        where = "~/.netrc, as: machine HOST login NAME password PASSWORD"
    host = authority.rpartition("@")[2][:100]
    raise ConfigError(
        f"the {scheme}:// address at {host} holds a user name or password, which others can read in the list of "
        f"processes: put it into {where}"
    )


def _archive(path: str) -> str:
    """The suffix of an archive that *path* ends with; the longest one, so that it is cut off whole."""
    return max((suffix for suffix in ARCHIVES if path.lower().endswith(suffix)), key=len, default="")
