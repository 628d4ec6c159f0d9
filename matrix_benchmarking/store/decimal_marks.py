"""Marks in the numbers of a table: decimal ones, where ``;`` parts its cells commas; and those between thousands."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

WHOLE = re.compile(r"[-+]?[0-9]{1,18}")
DECIMAL = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]{1,3})?")
THOUSANDS = re.compile(r"[-+]?[1-9][0-9]{0,2}\.[0-9]{3}")


def pointed(text: str) -> str:
    """Where ``;`` separates cells, a comma is a decimal point."""
    found = text.replace(",", ".")
    return found if text.count(",") == 1 and DECIMAL.fullmatch(found.strip()) else text


BLANKS = " \u00a0\u2009\u202f'’"
"""What parts thousands besides commas: blanks, and the marks of Swiss spreadsheets."""
_BY_COMMAS = re.compile(r"[-+]?[1-9][0-9]{0,2}(,[0-9]{3})+(\.[0-9]+)?")
_BY_BLANKS = re.compile(rf"[-+]?[1-9][0-9]{{0,2}}([{BLANKS}])[0-9]{{3}}(\1[0-9]{{3}})*([.,][0-9]+)?")
_BY_POINTS = re.compile(r"[-+]?[1-9][0-9]{0,2}((\.[0-9]{3})+,[0-9]+|(\.[0-9]{3}){2,})")
_MARK = re.compile(rf"[,{BLANKS}]|\..*\.")
_NO_BLANKS = str.maketrans(",", ".", BLANKS)


def joined(text: str) -> str:
    """*text* without the marks between the thousands of a number; the same where there are none."""
    if not _MARK.search(text):  # nearly always
        return text
    if _BY_BLANKS.fullmatch(text):
        return text.translate(_NO_BLANKS)
    if _BY_POINTS.fullmatch(text):
        return text.replace(".", "").replace(",", ".")
    return text.replace(",", "") if _BY_COMMAS.fullmatch(text) else text


def are_grouped(texts: Collection[str]) -> bool:
    """Whether marks part thousands in *texts*, the cells of a column.

    A comma before three digits may be a decimal mark, unless one has another beside it, or numbers without one have a
    point or are all below 1000. Blanks, ``'`` and points before a comma or another point are none, but others beside
    them may be.
    """
    texts = [text.strip() for text in texts]
    if any(map(_BY_BLANKS.fullmatch, texts)):
        return not any(map(_BY_COMMAS.fullmatch, texts))
    if any(map(_BY_POINTS.fullmatch, texts)):
        return not any(_BY_COMMAS.fullmatch(text) or THOUSANDS.fullmatch(text) for text in texts)
    with_commas = [text for text in texts if "," in text]
    others = [text for text in texts if "," not in text and DECIMAL.fullmatch(text) and float(text)]
    says_more = any(text.count(",") > 1 or "." in text for text in with_commas) or bool(others)
    is_known = bool(with_commas) and says_more and all(abs(float(text)) < 1000.0 for text in others)
    return is_known and all(map(_BY_COMMAS.fullmatch, with_commas))


class RowsAbove:
    """What the rows so far say of the columns of a table whose cells ``;`` parts, by which another may be unclear."""

    def __init__(self) -> None:
        self._commas: dict[str, bool] = {}  # whether the first number with decimals of a column has a comma
        self._has_decimal_commas = False  # in any column a number of which the comma can be nothing else
        self._whole: dict[str, str] = {}
        self._grouped: dict[str, str] = {}  # a number whose mark before its last three digits may part thousands
        self._is_decimal: set[str] = set()  # columns with a number of which the mark can be nothing else

    def unclear(self, cells: Mapping[str, str]) -> str:
        """What is unclear of a row, as a half sentence; empty for nothing."""
        for name, text in cells.items():
            has_comma = pointed(text) != text
            is_decimal = has_comma or ("." in text and DECIMAL.fullmatch(text.strip()) is not None)
            if is_decimal and self._commas.setdefault(name, has_comma) is not has_comma:
                usual = "points" if has_comma else "commas"
                return f"has '{text}' in {name}, where rows above have decimal {usual}"
            if has_comma and not THOUSANDS.fullmatch(pointed(text.strip())):
                self._has_decimal_commas = True
        return next(filter(None, (self._grouping(name, text.strip()) for name, text in cells.items())), "")

    def notes(self) -> list[str]:
        """A sentence on each column of which the commas were taken for decimal points, and may part thousands."""
        if self._has_decimal_commas:
            return []
        return [
            f"{name}: '{text}' was read as {pointed(text)}, as ';' parts the cells: write it without the comma if that "
            "parts thousands"
            for name, text in self._grouped.items()
            if "," in text and name not in self._is_decimal and name not in self._whole
        ]

    def _grouping(self, name: str, text: str) -> str:
        """Whether the mark in a number, or in one above it, may part thousands."""
        number = pointed(text)
        is_grouped, is_whole = THOUSANDS.fullmatch(number) is not None, WHOLE.fullmatch(text) is not None
        if is_grouped and number == text and any(self._commas.values()):
            return f"has '{text}' in {name}, beside decimal commas: is it {_joined(text)}?"
        if not text.strip("+-0"):
            return ""  # a nothing, which has no thousands
        if not is_grouped and not is_whole:
            if name in self._commas and DECIMAL.fullmatch(number):
                self._is_decimal.add(name)
            return ""
        if is_whole and len(text.lstrip("+-")) > 3:  # where groups have a mark it would have one
            self._is_decimal.add(name)
        other = (self._whole if is_grouped else self._grouped).get(name)
        (self._grouped if is_grouped else self._whole).setdefault(name, text)
        grouped = text if is_grouped else other
        if grouped is None or other is None or name in self._is_decimal:
            return ""
        if "," in grouped and self._has_decimal_commas:
            return ""
        return f"has '{text}' in {name}, beside '{other}': is {'it' if is_grouped else 'that'} {_joined(grouped)}?"


def _joined(grouped: str) -> str:
    return grouped.replace(".", "").replace(",", "")
