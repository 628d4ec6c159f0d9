"""The envelope of what the store keeps: a magic word with the format version, a BLAKE2b checksum, the content.

The checksum detects damage; it is no signature. Nothing that is kept so is executed, so a forged file can
only give wrong numbers.
"""

from __future__ import annotations

import dataclasses
import hashlib

from .fingerprint import DIGEST_SIZE

_VERSION_SIZE = 2


class BrokenCache(Exception):
    """A kept file that can't be used; the text says why."""


@dataclasses.dataclass(frozen=True, slots=True)
class Envelope:
    """One kind of kept file.

    Attributes:
        family: the magic word.
        version: of the format that is written, and the newest that is read.
        kind: what such a file is, for sentences.
    """

    family: bytes
    version: int
    kind: str

    @property
    def magic(self) -> bytes:
        return self.family + self.version.to_bytes(_VERSION_SIZE, "big")

    def seal(self, body: bytes) -> bytes:
        """The content of a file that holds *body*."""
        return self.magic + hashlib.blake2b(body, digest_size=DIGEST_SIZE).digest() + body

    def open(self, content: bytes) -> memoryview | None:
        """What :meth:`seal` got; None for an older format.

        Raises:
            BrokenCache: *content* is damaged, or of a newer format.
        """
        if not content.startswith(self.family):
            raise BrokenCache(f"it is not a {self.kind}")
        start = len(self.magic)
        version = int.from_bytes(content[len(self.family) : start], "big")
        if version > self.version:
            raise BrokenCache(f"its format {version} is newer than this matbench, which reads {self.version}")
        if version < self.version:
            return None
        body = memoryview(content)[start + DIGEST_SIZE :]
        if hashlib.blake2b(body, digest_size=DIGEST_SIZE).digest() != content[start : start + DIGEST_SIZE]:
            raise BrokenCache("its checksum is wrong: it is damaged")
        return body
