"""Weakly typed results as MessagePack, with their types, as extension types where it has none; nothing is executed."""

from __future__ import annotations

import datetime as dt
import decimal
import io
import itertools
import pathlib
import sys
import types
import uuid
import zoneinfo
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from ..errors import needing

if TYPE_CHECKING:
    import pandas

Value = Any
"""Of results, which are weakly typed."""


class CodecError(Exception):
    """A value that can't be kept."""


class BrokenCache(CodecError):
    """What was kept and can't be used; the text says why."""


S = TypeVar("S", bound=msgspec.Struct)

_SIMPLE = frozenset({str, int, float, bool, type(None), bytes})
_pack_plain = msgspec.msgpack.Encoder().encode


def pack(value: Value) -> bytes:
    """*value* as bytes. Raises CodecError: it holds something that can't be kept with its type."""
    try:
        try:
            return _pack_plain(_wrap(value, careful=False))
        except (OverflowError, UnicodeEncodeError):  # rare: integers beyond 64 bits, or text with lone surrogates
            return _pack_plain(_wrap(value, careful=True))
    except RecursionError as error:
        raise CodecError("results that are nested too deeply, or contain themselves") from error


def unpack(content: bytes | memoryview) -> Value:
    """The value of which :func:`pack` made *content*. Raises BrokenCache: it didn't."""
    try:
        return _unpack_plain(content)
    except Exception as error:
        raise BrokenCache(f"it holds what can't be decoded ({type(error).__name__}: {error})") from error


def pack_struct(stamp: tuple[str | bytes, ...], fields: msgspec.Struct) -> bytes:
    """*fields*, whose types :func:`unpack_struct` checks, behind the *stamp* that it compares."""
    try:
        try:
            return _pack_plain((stamp, fields))
        except (OverflowError, UnicodeEncodeError):
            return pack([stamp, msgspec.to_builtins(fields, builtin_types=(bytes, dt.datetime))])
    except TypeError as error:
        raise CodecError(f"something unexpected ({error})") from error


def unpack_struct(content: bytes | memoryview, stamp: tuple[str | bytes, ...], form: type[S]) -> S | None:
    """The fields of which :func:`pack_struct` made *content*; None if that was with another *stamp*."""
    parts = unpack(content)
    if not isinstance(parts, list) or len(parts) != 2 or not isinstance(parts[0], list | tuple):
        raise BrokenCache("it holds something unexpected (no fields)")
    if tuple(parts[0]) != stamp:
        return None
    try:
        return msgspec.convert(parts[1], form)
    except (msgspec.ValidationError, ValueError) as error:
        raise BrokenCache(f"it holds something unexpected ({error})") from error


def _ext(code: int, value: Value) -> msgspec.msgpack.Ext:
    return msgspec.msgpack.Ext(code, _pack_plain(value))


def _wrap(value: Value, careful: bool) -> Value:
    kind = type(value)
    if kind is list:
        if not careful and _is_plain(value):
            return value
        return [_wrap(item, careful) for item in value]
    if kind is dict:
        if set(map(type, value)) <= {str} and not careful:
            if _SIMPLE.issuperset(map(type, value.values())):
                return value
            return {key: item if type(item) in _SIMPLE else _wrap(item, careful) for key, item in value.items()}
        return _ext(_PAIRS, [[_wrap(key, careful), _wrap(item, careful)] for key, item in value.items()])
    if kind in _SIMPLE:
        return _wrap_rare(value) if careful else value
    code, write, _ = _KINDS.get(kind) or _kind_of_array(value)
    return _ext(code, _wrap(write(value), careful))


def _is_plain(items: list[Value]) -> bool:
    """True for a list of simple values, or of lists of them: what long series are made of."""
    kinds = set(map(type, items))
    if kinds == {list}:
        kinds = set(map(type, itertools.chain.from_iterable(items)))
    return kinds <= _SIMPLE


def _wrap_rare(value: Value) -> Value:
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return _ext(_SURROGATE_TEXT, value.encode("utf-8", "surrogatepass"))
    elif isinstance(value, int) and not -(1 << 63) <= value < (1 << 64):
        return _ext(_BIG_INTEGER, hex(value))
    return value


def _check_zone(zone: dt.tzinfo | None) -> None:
    if zone is not None and type(zone) is not dt.timezone:
        raise CodecError(f"a time in the zone {zone!r}")


def _write_datetime(value: dt.datetime) -> list[Value]:
    if isinstance(value.tzinfo, zoneinfo.ZoneInfo) and value.tzinfo.key is not None:
        return [value.replace(tzinfo=None).isoformat(), value.tzinfo.key, value.fold]
    _check_zone(value.tzinfo)
    return [value.isoformat(), None, value.fold]


def _read_datetime(parts: list[Value]) -> dt.datetime:
    text, zone, fold = parts
    moment = dt.datetime.fromisoformat(text).replace(fold=fold)
    return moment if zone is None else moment.replace(tzinfo=zoneinfo.ZoneInfo(zone))


def _write_time(value: dt.time) -> list[Value]:
    _check_zone(value.tzinfo)
    return [value.isoformat(), value.fold]


def _kind_of_array(value: Value) -> _Kind:
    """That of a numpy or pandas object; whoever made it has imported the library."""
    numpy, pandas = sys.modules.get("numpy"), sys.modules.get("pandas")
    known = {} if pandas is None else {pandas.DataFrame: _FRAME, pandas.Series: _SERIES, pandas.Timestamp: _TIMESTAMP}
    if numpy is not None:
        known[numpy.ndarray] = _ARRAY
    if type(value) in known:
        return known[type(value)]
    if numpy is not None and isinstance(value, numpy.generic):
        return _ARRAY_SCALAR
    raise CodecError(f"a {type(value).__module__}.{type(value).__qualname__}")


def _write_array(value: Value) -> bytes:
    import numpy

    stream = io.BytesIO()
    try:
        numpy.save(stream, numpy.asarray(value), allow_pickle=False)
    except ValueError as error:
        raise CodecError(f"a numpy array of {value.dtype}: {error}") from error
    return stream.getvalue()


def _read_array(content: bytes) -> Value:
    import numpy

    return numpy.load(io.BytesIO(content), allow_pickle=False)


def _write_frame(frame: pandas.DataFrame) -> bytes:
    with needing("a DataFrame, which in a cache", "parquet", CodecError):
        import pyarrow as pa
    try:
        table = pa.Table.from_pandas(frame, preserve_index=True)
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise CodecError(f"a DataFrame that Arrow can't hold: {error}") from error
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _read_frame(content: bytes) -> Value:
    with needing("a DataFrame in a cache", "parquet", BrokenCache):
        import pyarrow as pa
    with pa.ipc.open_stream(content) as reader:
        return reader.read_all().to_pandas()


def _read_timestamp(parts: list[Value]) -> Value:
    import pandas

    value, unit, zone = parts
    return pandas.Timestamp(value, unit="ns", tz=zone).as_unit(unit)


_Kind = tuple[int, Callable[[Value], Value], Callable[[Value], Value]]
"""A MessagePack extension type, a part of the format; what makes simpler values of one, and the way back."""

_PAIRS, _BIG_INTEGER, _SURROGATE_TEXT = 5, 6, 7
_PATH: _Kind = (12, str, pathlib.Path)
_KINDS: dict[type, _Kind] = {
    types.SimpleNamespace: (1, vars, lambda fields: types.SimpleNamespace(**fields)),
    tuple: (2, list, tuple),
    set: (3, list, set),
    frozenset: (4, list, frozenset),
    dt.datetime: (8, _write_datetime, _read_datetime),
    dt.date: (9, dt.date.isoformat, dt.date.fromisoformat),
    dt.time: (10, _write_time, lambda parts: dt.time.fromisoformat(parts[0]).replace(fold=parts[1])),
    dt.timedelta: (
        11,
        lambda value: [value.days, value.seconds, value.microseconds],
        lambda parts: dt.timedelta(*parts),
    ),
    type(pathlib.Path()): _PATH,
    type(pathlib.PurePath()): _PATH,
    uuid.UUID: (13, str, uuid.UUID),
    decimal.Decimal: (14, str, decimal.Decimal),
    complex: (15, lambda value: [value.real, value.imag], lambda parts: complex(*parts)),
}
_ARRAY: _Kind = (16, _write_array, _read_array)
_ARRAY_SCALAR: _Kind = (17, _write_array, lambda content: _read_array(content)[()])
_FRAME: _Kind = (18, _write_frame, _read_frame)
_SERIES: _Kind = (
    19,
    lambda series: [_write_frame(series.to_frame(name="values")), series.name],
    lambda parts: _read_frame(parts[0])["values"].rename(parts[1]),
)
_TIMESTAMP: _Kind = (
    20,
    lambda moment: [moment.as_unit("ns").value, moment.unit, None if moment.tzinfo is None else str(moment.tzinfo)],
    _read_timestamp,
)
_READ: dict[int, Callable[[Value], Value]] = {
    _PAIRS: dict,
    _BIG_INTEGER: lambda text: int(text, 16),
    _SURROGATE_TEXT: lambda content: content.decode("utf-8", "surrogatepass"),
    **{code: read for code, _, read in (*_KINDS.values(), _ARRAY, _ARRAY_SCALAR, _FRAME, _SERIES, _TIMESTAMP)},
}


def _unwrap(code: int, content: memoryview) -> Value:
    if code not in _READ:
        raise BrokenCache(f"the unknown extension type {code}")
    return _READ[code](_unpack_plain(content))


_unpack_plain = msgspec.msgpack.Decoder(ext_hook=_unwrap).decode
