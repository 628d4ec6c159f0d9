"""What a setting's value looks like to a person, by which different ones are alike."""

from __future__ import annotations

import contextlib
import re
import unicodedata

from ...filters import cut, one_blank, show
from .matched import MOST_DIGITS

_OF_A_UNIT = re.compile(r"([\d.]+) ([A-Za-zµ%]+)")
_SPELT = re.compile(r"[vV]?(\d+(?:\.\d+)*?)(?:\.0)*(?![.\d])(.*)", re.DOTALL)
_MEANT = {"true": 1, "yes": 1, "on": 1, "false": 0, "no": 0, "off": 0, "null": "null"}  # as YAML reads them


def plain(value: object) -> object:
    """What *value* looks like, whatever its type: the number, if it can be read as one, 1 for true; the word else."""
    if isinstance(value, bool):
        return int(value)
    if value is None:
        return show(value)
    if not isinstance(value, str):
        near = float(f"{value:.{MOST_DIGITS}g}") if isinstance(value, float) else value  # 0.1 + 0.2 looks like 0.3
        return int(near) if isinstance(near, float) and near.is_integer() else near
    text = one_blank(visible(value))
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return plain(kind(text))
    return _MEANT.get(text.lower(), text)


def looks_like(value: object) -> object:
    """The same for values that may be one."""
    found = plain(spelt(value) if isinstance(value, str) else value)
    return folded(found) if isinstance(found, str) else found


def folded(text: str) -> str:
    """*text* without case, and with one sign for the one that joins the parts of a word, as in ``ONNX_int8``."""
    joins = len({*"_ -"} & {*text})
    return re.sub("[_ ]", "-", text.casefold()) if text[:1].isalpha() and joins == 1 else text.casefold()


def spelt(text: str) -> str:
    """*text*; of a version the same whether it has a ``v`` in front and zeros behind: ``v1.5.0-rc1`` is ``1.5-rc1``.

    And of a number whether a blank parts it from its unit.
    """
    match = _SPELT.fullmatch(text := "".join(parted.groups()) if (parted := _OF_A_UNIT.fullmatch(text)) else text)
    return f"{match[1]}{match[2]}" if match else text


_LOOK_ALIKE = str.maketrans(
    "асԁеһіјӏорԛѕԝхуАВСЕНІЈКМОРЅТХҮΑΒΕΖΗΙΚΜΝΟΡΤΥΧον\u2010\u2011\u2013\u2212",
    "acdehijlopqswxyABCEHIJKMOPSTXYABEZHIKMNOPTYXov----",
)
_LOOK_ALIKE |= {0xFEE0 + code: code for code in range(0x21, 0x7F)}
"""Letters of other alphabets, wide ones, and hyphens and a minus, in what they look like."""
_HOW_DRAWN = "\ufe0e\ufe0f"  # behind an emoji


def visible(text: str) -> str:
    """*text* without the characters that nobody sees, such as a blank of no width, and with Latin letters for those of
    other alphabets, and hyphens for those signs, that look the same.
    """
    if text.isascii() and text.isprintable():
        return text
    with contextlib.suppress(UnicodeError):
        text = text.encode("cp1252").decode()  # of UTF-8 that was read as Windows' own
    text = unicodedata.normalize("NFC", text).translate(_LOOK_ALIKE)
    unseen = [char for char in set(text) if unicodedata.category(char) in ("Cc", "Cf") and not char.isspace()]
    return "".join(char for char in text if char not in (*unseen, *_HOW_DRAWN))


def written(value: object) -> str:
    """A value as it tells its type: texts in quotes, with the names of blanks that look like others."""
    text = cut(value)
    if not isinstance(value, str):
        return text
    is_odd = visible(text) != text or any(char.isspace() and char != " " for char in text)
    return ascii(text) if is_odd else f"'{text}'"
