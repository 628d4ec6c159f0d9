"""Filters such as ``hw_type=cpu-1:cpu-2,batch_size=32``, which select entries by their settings.

``,`` separates settings and ``:`` separates values; a backslash takes the special meaning from the
character after it. A bare value matches a setting that is written so, whatever its type: ``32``
matches the number and the text. A value in double quotes matches text only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import msgspec

from .errors import ConfigError, did_you_mean, shortened

Scalar = str | int | float | bool | None

_ESCAPABLE = ',:=\\"'


class Value(msgspec.Struct, frozen=True):
    """One value of a filter: how it is written, and whether only text, or only what is no text, may match."""

    text: str
    quoted: bool = False
    is_no_text: bool = False  # which a filter that is written can't say

    def matches(self, setting: Scalar) -> bool:
        is_refused = self.is_no_text if isinstance(setting, str) else self.quoted
        return not is_refused and self.text in (exact(setting), cut(setting))

    def __str__(self) -> str:
        text = escaped(self.text)
        return f'"{text}"' if self.quoted or text != text.strip() else text


Filters = Mapping[str, tuple[Value, ...]]


JOINER = "\u200d"
"""Joins emoji; the one invisible character that is shown as it is."""


_LIKE_OTHERS = frozenset(("", "true", "false", "null"))


def show(setting: object) -> str:
    """A setting for people: as :func:`cut` writes it, made visible.

    In quotes where others differ in blanks only, and where a text would look like nothing, or like what is no text.
    """
    text = visible(cut(setting))
    is_quoted = isinstance(setting, str) and (setting != one_blank(setting) or setting in _LIKE_OTHERS)
    return f'"{text}"' if is_quoted else text


def visible(text: str, is_kept: Callable[[str], bool] = str.isspace) -> str:
    """*text* with what is invisible, or turns the direction of writing, as ``\\u202e``, but for what *is_kept*."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one == JOINER or is_kept(one) else ascii(one)[1:-1] for one in text)


def cut(setting: object) -> str:
    """As :func:`exact`, a long one cut. What is left tells it from all others, so a filter may be written so, too."""
    return shortened(exact(setting))


def one_blank(text: str) -> str:
    """*text* as it looks on a page: one blank for several, none at its ends."""
    return " ".join(text.split())


def exact(setting: object) -> str:
    """A setting as it is written in YAML, without quotes: ``true``, ``null``, ``32``, ``1.0``."""
    if setting is None:
        return "null"
    if isinstance(setting, bool):
        return "true" if setting else "false"
    return str(setting)


def write(setting: Scalar) -> str:
    """*setting* as a filter value: :func:`parse` reads it back so that it matches this setting only."""
    return str(Value(cut(setting), isinstance(setting, str)))


def escaped(name: str) -> str:
    """*name* with a backslash before each character that has a meaning in a filter."""
    return "".join("\\" + char if char in _ESCAPABLE else char for char in name)


def written(filters: Filters) -> str:
    """*filters* as :func:`parse` reads them."""
    return ",".join(f"{escaped(name)}={':'.join(map(str, values))}" for name, values in filters.items() if values)


def names(text: str) -> list[str]:
    """Names between commas, each as :func:`escaped` writes it."""
    return [_unescape(part) for part in _split(text, ",") if part]


def value(setting: Scalar) -> Value:
    """The filter value that *setting* alone matches."""
    return Value(exact(setting), quoted=isinstance(setting, str), is_no_text=not isinstance(setting, str))


def parse(text: str) -> dict[str, tuple[Value, ...]]:
    """Read a filter; an empty text gives no filter.

    Raises:
        ConfigError: a part without ``=``, without a name or without an end of its quotes.
    """
    filters: dict[str, tuple[Value, ...]] = {}
    if not text.strip():
        return filters
    for part in _split(text, ","):
        name, *values = _split(part, "=")
        if len(values) != 1 or not name.strip():
            raise ConfigError(f"filter '{part}' is not of the form name=value[:value…], as in batch_size=1:32")
        key = _unescape(name.strip())
        filters[key] = filters.get(key, ()) + tuple(_value(value) for value in _split(values[0], ":"))
    return filters


def check_names(filters: Filters, known: Iterable[str]) -> None:
    """Raise ConfigError for a filter on a setting that no test has."""
    names = set(known)
    for name in filters:
        if name not in names:
            raise ConfigError(f"no test has a setting '{name}' to filter by: {did_you_mean(name, names)}")


def check_values(filters: Filters, known: Mapping[str, Iterable[Scalar]]) -> None:
    """Raise ConfigError for a value that no test has, of the settings that are *known* with their values."""
    for name, wanted in filters.items():
        if not wanted:
            raise ConfigError(f"no value of {name} is given")
        there = list(known.get(name, ()))
        for value in wanted if name in known else ():
            if not any(value.matches(each) for each in there):
                meant = _of_another_type(value, there) or did_you_mean(value.text, map(show, there))
                raise ConfigError(f"no test has {name}={value.text}: {meant}")


def _of_another_type(value: Value, there: Iterable[Scalar]) -> str:
    """The end of a sentence where all values that are *there*, or one that looks the same, are of another type."""
    known = [one for one in there if one is not None]
    others = [one for one in known if (value.is_no_text if isinstance(one, str) else value.quoted)]
    if others and (len(others) == len(known) or value.text in map(exact, others)):
        what = "text" if value.is_no_text else "no text"
        return f"there it is {what}, such as {others[0]!r}, and types count"
    return ""


def matches(filters: Filters, settings: Mapping[str, Scalar], repeat: int | None = None) -> bool:
    """True if *settings* has, for each filtered name, one of the values. ``repeat`` can be filtered too."""
    for name, values in filters.items():
        setting = repeat if name == "repeat" else settings.get(name)
        if not any(value.matches(setting) for value in values):
            return False
    return True


def _split(text: str, separator: str) -> list[str]:
    """Split at *separator* where it is neither escaped nor inside double quotes."""
    parts, start, quoted, index = [], 0, False, 0
    while index < len(text):
        char = text[index]
        if char == "\\":
            index += 1
        elif char == '"':
            quoted = not quoted
        elif char == separator and not quoted:
            parts.append(text[start:index])
            start = index + 1
        index += 1
    if quoted:
        raise ConfigError(f"filter '{text}' has an opening \" without a closing one")
    return [*parts, text[start:]]


def _value(text: str) -> Value:
    text = text.strip()
    quoted = len(text) >= 2 and text[0] == '"' and text[-1] == '"'
    return Value(_unescape(text[1:-1] if quoted else text), quoted)


def _unescape(text: str) -> str:
    characters = iter(text)
    return "".join(next(characters, "\\") if char == "\\" else char for char in characters)
