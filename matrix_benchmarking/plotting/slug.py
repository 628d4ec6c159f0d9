"""Names of reports, figures and sections as parts of file names and addresses."""

from __future__ import annotations

import re
import unicodedata

LONGEST = 80


def slug(text: str, fallback: str) -> str:
    """*text* in lower-case ASCII letters, digits and single hyphens; *fallback* where nothing is left of it."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")[:LONGEST].strip("-") or fallback


class Slugs:
    """Gives each slug once: the second of a name ends with ``-2``."""

    def __init__(self, *taken: str) -> None:
        self._taken = set(taken)

    def add(self, text: str, fallback: str) -> str:
        """The slug of *text*, with a number where that is taken."""
        plain = slug(text, fallback)
        found, number = plain, 2
        while found in self._taken:
            found, number = f"{plain}-{number}", number + 1
        self._taken.add(found)
        return found
