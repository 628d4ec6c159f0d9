"""Who we are at an OpenSearch server, from the environment or a file; never from a command line that others can list.

Variables are ``MATBENCH_OPENSEARCH_<INSTANCE>_URL``, ``_USERNAME``, ``_PASSWORD``, ``_CA_CERTS`` and ``_VERIFY_CERTS``;
without an instance ``MATBENCH_OPENSEARCH_USERNAME`` and so on. The file is YAML: below each instance the same names,
in small letters.
"""

from __future__ import annotations

import dataclasses
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ... import yaml_file
from ..errors import HistoryError

PREFIX = "MATBENCH_OPENSEARCH_"
FILE_VARIABLE = f"{PREFIX}CREDENTIALS"
NAMES = ("url", "username", "password", "ca_certs", "verify_certs")
_NO = frozenset({"false", "0", "no", "n"})
_YES = frozenset({"true", "1", "yes", "y"})


@dataclasses.dataclass(frozen=True, slots=True)
class Credentials:
    """What is needed to talk to one server.

    Attributes:
        url: of the server; None where only the rest is given.
        username, password: for basic authentication.
        ca_certs: file with the certificates of a private authority.
        verify_certs: False takes any certificate, which makes the connection insecure.
    """

    url: str | None = None
    username: str | None = None
    password: str | None = dataclasses.field(default=None, repr=False)
    ca_certs: str | None = None
    verify_certs: bool = True


def find(environment: Mapping[str, str], instance: str | None = None) -> tuple[Credentials, list[str]]:
    """The credentials of *instance* and warnings about them; each variable wins over the file.

    Raises:
        HistoryError: an instance about which nothing is said, or a file that can't be used.
    """
    warnings: list[str] = []
    given: dict[str, Any] = {}
    if instance is not None and environment.get(FILE_VARIABLE):
        given = _from_file(Path(environment[FILE_VARIABLE]), instance, warnings)
    prefix = variable_prefix(instance)
    given |= {name: environment[prefix + name.upper()] for name in NAMES if environment.get(prefix + name.upper())}
    if instance is None:
        given.pop("url", None)
    elif not given:
        raise HistoryError(
            f"nothing is known of the OpenSearch instance '{instance}': set {prefix}URL, {prefix}USERNAME and "
            f"{prefix}PASSWORD, or name a file with them in {FILE_VARIABLE}"
        )
    verify = _boolean(given.pop("verify_certs", True), f"{prefix}VERIFY_CERTS")
    return Credentials(**given, verify_certs=verify), warnings


def variable_prefix(instance: str | None) -> str:
    """The beginning of the variables of *instance*."""
    return PREFIX if instance is None else f"{PREFIX}{re.sub('[^A-Z0-9]', '_', instance.upper())}_"


def _from_file(path: Path, instance: str, warnings: list[str]) -> dict[str, Any]:
    content = yaml_file.read(path).content
    section = content.get(instance)
    if section is None:
        return {}
    if not isinstance(section, dict) or not all(
        name in NAMES and isinstance(value, (str, bool)) for name, value in section.items()
    ):
        raise HistoryError(f"{path}: '{instance}' is not a mapping with texts for {', '.join(NAMES)}")
    if path.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH):
        warnings.append(f"{path} holds a password and can be read by others: chmod 600 {path}")
    return dict(section)


def _boolean(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        return value
    text = str(value).lower()
    if text not in _NO | _YES:
        raise HistoryError(f"{name} is '{value}', and should be true or false")
    return text in _YES
