"""What a page of the application shows, and the address that says so; both ways, in one place."""

from __future__ import annotations

import urllib.parse
from collections.abc import Mapping

import msgspec

from ... import filters as filter_language
from ...errors import ConfigError, did_you_mean
from ...filters import Filters, Value, escaped

CFG = "cfg."
_PLAIN = "/:,=\"'@!*()"
"""What may stand in a value of an address as it is; it stays readable."""
_FIELDS = ("show", "filters", "order", "artifact", "beside", "run")


class View(msgspec.Struct, frozen=True):
    show: str = ""  # the slug of a report or plot; empty for the first report
    filters: Filters = msgspec.field(default_factory=dict)
    order: tuple[str, ...] = ()  # the variables that come first
    cfg: Mapping[str, str] = msgspec.field(default_factory=dict)
    run: str = ""  # the id of the run that is open, or its first digits; the same of the run beside it
    beside: str = ""
    artifact: str = ""  # the file of the run that is shown

    def on_page(self, show: str) -> View:
        return msgspec.structs.replace(self.with_run(""), show=show)

    def with_run(self, run: str) -> View:
        """The same page with *run* open; an empty one closes what is open."""
        return msgspec.structs.replace(self, run=run, beside="", artifact="")

    def with_cfg(self, name: str, value: str | None) -> View:
        """Another value of the configuration; None for its default."""
        cfg = {known: text for known, text in self.cfg.items() if known != name}
        return msgspec.structs.replace(self, cfg=cfg if value is None else {**cfg, name: value})

    def with_filter(self, name: str, values: tuple[Value, ...]) -> View:
        others = {known: wanted for known, wanted in self.filters.items() if known != name}
        return msgspec.structs.replace(self, filters={**others, name: values} if values else others)


def write(view: View) -> str:
    """The query of an address, with its ``?``; :func:`read` gives *view* again."""
    filters, order = filter_language.written(view.filters), ",".join(map(escaped, view.order))
    before = {"show": view.show, "filters": filters, "order": order}
    after = {"artifact": view.artifact, "beside": view.beside, "run": view.run}
    texts = {**before, **{f"{CFG}{name}": text for name, text in view.cfg.items()}, **after}
    said = {name: text for name, text in texts.items() if text or name.startswith(CFG)}
    return "?" + "&".join(f"{_quote(name, '')}={_quote(text, _PLAIN)}" for name, text in said.items())


def read(query: str) -> View:
    """The view that *query* says, with or without its ``?``; raises ConfigError for a part that has no meaning."""
    texts: dict[str, str] = {}
    cfg: dict[str, str] = {}
    try:
        pairs = urllib.parse.parse_qsl(
            query.removeprefix("?").replace("+", "%2B"), keep_blank_values=True, max_num_fields=200, errors="strict"
        )
    except (ValueError, UnicodeDecodeError) as error:
        raise ConfigError(f"the address can't be read: {error}") from error
    for name, text in pairs:
        if name.startswith(CFG) and len(name) > len(CFG):
            cfg[name.removeprefix(CFG)] = text
        elif name in _FIELDS:
            texts[name] = text
        else:
            raise ConfigError(f"the address has an unknown part '{name}': {did_you_mean(name, [*_FIELDS, 'cfg.NAME'])}")
    try:
        filters = filter_language.parse(texts.pop("filters", ""))
        order = tuple(dict.fromkeys(filter_language.names(texts.pop("order", ""))))
    except ConfigError as error:
        raise ConfigError(f"the address: {error}") from error
    return View(filters=filters, order=order, cfg=cfg, **texts)


def same(one: str, other: str) -> bool:
    """True if two queries say the same; one that can't be read is like no other."""
    try:
        return read(one) == read(other)
    except ConfigError:
        return one == other


def _quote(text: str, plain: str) -> str:
    return urllib.parse.quote(text, safe=plain, errors="replace")
