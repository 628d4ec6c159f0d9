"""What a page of the application shows, and the address that says so; both ways, in one place.

An address such as ``?show=cost-analysis&filters=hw_type=cpu-1:cpu-2,vus=8&cfg.minimum_vus=21`` is short and can be
edited by hand: the filters are written as on the command line, a run by the first digits of its id.
"""

from __future__ import annotations

import dataclasses
import urllib.parse
from collections.abc import Mapping

from ... import filters as filter_language
from ...errors import ConfigError, MatbenchError, did_you_mean
from ...filters import Filters, Value

CFG = "cfg."
_PLAIN = "/:,=\"'@!*()"
"""What may stand in a value of an address as it is; it stays readable."""
_FIELDS = ("show", "filters", "order", "artifact", "beside", "run")


class AddressError(MatbenchError):
    """An address that can't be read."""


@dataclasses.dataclass(frozen=True, slots=True)
class View:
    """What is shown; a default value is not written into the address."""

    show: str = ""  # the slug of a report or plot; empty for the first report
    filters: Filters = dataclasses.field(default_factory=dict)
    order: tuple[str, ...] = ()  # the variables that come first
    cfg: Mapping[str, str] = dataclasses.field(default_factory=dict)
    run: str = ""  # the id of the run that is open, or its first digits; the same of the run beside it
    beside: str = ""
    artifact: str = ""  # the file of the run that is shown

    def on_page(self, show: str) -> View:
        """The same selection on another page, without an open run."""
        return dataclasses.replace(self.with_run(""), show=show)

    def with_run(self, run: str, beside: str = "", artifact: str = "") -> View:
        """The same page with *run* open; an empty one closes what is open."""
        return dataclasses.replace(self, run=run, beside=beside, artifact=artifact)

    def with_cfg(self, name: str, value: str | None) -> View:
        """Another value of the configuration; None for its default."""
        cfg = {known: text for known, text in self.cfg.items() if known != name}
        return dataclasses.replace(self, cfg=cfg if value is None else {**cfg, name: value})

    def with_filter(self, name: str, values: tuple[Value, ...]) -> View:
        """Another filter on one setting; none where there are no *values*."""
        others = {known: wanted for known, wanted in self.filters.items() if known != name}
        return dataclasses.replace(self, filters={**others, name: values} if values else others)


def write(view: View) -> str:
    """The query of an address, with its ``?``; :func:`read` gives *view* again."""
    before = {"show": view.show, "filters": write_filters(view.filters), "order": ",".join(map(_escape, view.order))}
    after = {"artifact": view.artifact, "beside": view.beside, "run": view.run}
    texts = [(name, text) for name, text in before.items() if text]
    texts += [(f"{CFG}{name}", text) for name, text in view.cfg.items()]
    texts += [(name, text) for name, text in after.items() if text]
    return "?" + "&".join(f"{_quote(name, '')}={_quote(text, _PLAIN)}" for name, text in texts)


def read(query: str) -> View:
    """The view that *query* says, with or without its ``?``; raises AddressError for a part that has no meaning."""
    texts: dict[str, str] = {}
    cfg: dict[str, str] = {}
    try:
        pairs = urllib.parse.parse_qsl(
            query.removeprefix("?").replace("+", "%2B"), keep_blank_values=True, max_num_fields=200, errors="strict"
        )
    except (ValueError, UnicodeDecodeError) as error:
        raise AddressError(f"the address can't be read: {error}") from error
    for name, text in pairs:
        if name.startswith(CFG) and len(name) > len(CFG):
            cfg[name.removeprefix(CFG)] = text
        elif name in _FIELDS:
            texts[name] = text
        else:
            raise AddressError(
                f"the address has an unknown part '{name}': {did_you_mean(name, [*_FIELDS, 'cfg.NAME'])}"
            )
    filters = read_filters(texts.pop("filters", ""), "the address: ")
    order = tuple(dict.fromkeys(_names(texts.pop("order", ""))))
    return View(filters=filters, order=order, cfg=cfg, **texts)


def same(one: str, other: str) -> bool:
    """True if two queries say the same; one that can't be read is like no other."""
    try:
        return read(one) == read(other)
    except AddressError:
        return one == other


def read_filters(text: str, before: str = "") -> Filters:
    """Filters as a person types them; raises AddressError where they can't be read."""
    try:
        return filter_language.parse(text)
    except ConfigError as error:
        raise AddressError(f"{before}{error}") from error


def write_filters(filters: Filters) -> str:
    """Filters as the command line takes them."""
    return ",".join(f"{_escape(name)}={':'.join(map(_value, values))}" for name, values in filters.items() if values)


def _names(text: str) -> list[str]:
    """Names between commas; a backslash takes the meaning from the character after it."""
    names, current, characters = [], "", iter(text)
    for char in characters:
        if char == ",":
            names.append(current)
            current = ""
        else:
            current += next(characters, "\\") if char == "\\" else char
    return [name for name in [*names, current] if name]


def _value(value: Value) -> str:
    text = _escape(value.text)
    return f'"{text}"' if value.quoted or text != text.strip() else text


def _escape(text: str) -> str:
    return "".join("\\" + char if char in ',:=\\"' else char for char in text)


def _quote(text: str, plain: str) -> str:
    return urllib.parse.quote(text, safe=plain, errors="replace")
