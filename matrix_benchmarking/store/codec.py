"""Weakly typed results as MessagePack, with their types: nothing in it can be executed.

Namespaces, dates, paths, sets, tuples, big integers, numpy arrays, DataFrames and others that
MessagePack doesn't know are extension types. pandas and numpy are imported only to decode what they
hold.
"""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import io
import itertools
import pathlib
import sys
import types
import uuid
import zoneinfo
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from ..errors import needing


class CodecError(Exception):
    """A value that can't be kept, or bytes that are no value."""


class Code(enum.IntEnum):
    """MessagePack extension types; the numbers are part of the format."""

    NAMESPACE = 1
    TUPLE = 2
    SET = 3
    FROZENSET = 4
    PAIRS = 5
    BIG_INTEGER = 6
    SURROGATE_TEXT = 7
    DATETIME = 8
    DATE = 9
    TIME = 10
    TIMEDELTA = 11
    PATH = 12
    UUID = 13
    DECIMAL = 14
    COMPLEX = 15
    ARRAY = 16
    ARRAY_SCALAR = 17
    DATAFRAME = 18
    SERIES = 19
    TIMESTAMP = 20


S = TypeVar("S", bound=msgspec.Struct)

_SIMPLE = frozenset({str, int, float, bool, type(None), bytes})
_pack_plain = msgspec.msgpack.Encoder().encode


def pack(value: Any) -> bytes:
    """*value* as bytes.

    Raises:
        CodecError: it holds something that can't be kept with its type.
    """
    try:
        return _pack_plain(_wrap(value, careful=False))
    except (OverflowError, UnicodeEncodeError):
        pass  # rare: integers beyond 64 bits, or text with lone surrogates
    except RecursionError as error:
        raise CodecError("results that are nested too deeply, or contain themselves") from error
    try:
        return _pack_plain(_wrap(value, careful=True))
    except RecursionError as error:
        raise CodecError("results that are nested too deeply, or contain themselves") from error


def unpack(content: bytes | memoryview) -> Any:
    """The value of which :func:`pack` made *content*.

    Raises:
        CodecError: it was not made by :func:`pack`, or is damaged.
    """
    try:
        return _unpack_plain(content)
    except CodecError:
        raise
    except Exception as error:
        raise CodecError(f"{type(error).__name__}: {error}") from error


def pack_struct(stamp: tuple[str | bytes, ...], fields: msgspec.Struct) -> bytes:
    """*fields*, whose types :func:`unpack_struct` checks, behind the *stamp* that it compares.

    Raises:
        CodecError: a value is not of the types of its field.
    """
    try:
        try:
            return _pack_plain((stamp, fields))
        except (OverflowError, UnicodeEncodeError):
            return pack([stamp, msgspec.to_builtins(fields, builtin_types=(bytes, dt.datetime))])
    except TypeError as error:
        raise CodecError(f"something unexpected ({error})") from error


def unpack_struct(content: bytes | memoryview, stamp: tuple[str | bytes, ...], form: type[S]) -> S | None:
    """The fields of which :func:`pack_struct` made *content*; None if that was with another *stamp*.

    Raises:
        CodecError: they are of another *form*, or damaged.
    """
    parts = unpack(content)
    if not isinstance(parts, list) or len(parts) != 2 or not isinstance(parts[0], list | tuple):
        raise CodecError("no fields")
    if tuple(parts[0]) != stamp:
        return None
    try:
        return msgspec.convert(parts[1], form)
    except (msgspec.ValidationError, ValueError) as error:
        raise CodecError(str(error)) from error


def _ext(code: Code, value: Any) -> msgspec.msgpack.Ext:
    return msgspec.msgpack.Ext(int(code), value if isinstance(value, bytes) else _pack_plain(value))


def _wrap(value: Any, careful: bool) -> Any:
    kind = type(value)
    if kind is list:
        if not careful and _is_plain(value):
            return value
        return [_wrap(item, careful) for item in value]
    if kind is dict:
        return _wrap_dict(value, careful)
    if kind in _SIMPLE:
        return _wrap_rare(value) if careful else value
    if kind is types.SimpleNamespace:
        return _ext(Code.NAMESPACE, _wrap_dict(vars(value), careful))
    if kind in _CONTAINERS:
        return _ext(_CONTAINERS[kind], [_wrap(item, careful) for item in value])
    if kind in _AS_TEXT:
        code, write = _AS_TEXT[kind]
        return _ext(code, write(value))
    if isinstance(value, pathlib.PurePath):
        return _ext(Code.PATH, _wrap(str(value), careful))
    return _wrap_array(value)


def _is_plain(items: list[Any]) -> bool:
    """True for a list of simple values, or of lists of them: what long series are made of."""
    kinds = set(map(type, items))
    if kinds == {list}:
        kinds = set(map(type, itertools.chain.from_iterable(items)))
    return kinds <= _SIMPLE


def _wrap_dict(value: dict[Any, Any], careful: bool) -> Any:
    if set(map(type, value)) <= {str} and not careful:
        return {key: _wrap(item, careful) for key, item in value.items()}
    pairs = [[_wrap(key, careful), _wrap(item, careful)] for key, item in value.items()]
    return _ext(Code.PAIRS, pairs)


def _wrap_rare(value: Any) -> Any:
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return _ext(Code.SURROGATE_TEXT, value.encode("utf-8", "surrogatepass"))
    elif isinstance(value, int) and not -(1 << 63) <= value < (1 << 64):
        return _ext(Code.BIG_INTEGER, hex(value))
    return value


def _write_datetime(value: dt.datetime) -> list[Any]:
    zone = value.tzinfo.key if isinstance(value.tzinfo, zoneinfo.ZoneInfo) else None
    if zone is None and value.tzinfo is not None and type(value.tzinfo) is not dt.timezone:
        raise CodecError(f"a time in the zone {value.tzinfo!r}")
    return [value.isoformat() if zone is None else value.replace(tzinfo=None).isoformat(), zone, value.fold]


def _read_datetime(parts: list[Any]) -> dt.datetime:
    text, zone, fold = parts
    moment = dt.datetime.fromisoformat(text).replace(fold=fold)
    return moment if zone is None else moment.replace(tzinfo=zoneinfo.ZoneInfo(zone))


def _write_time(value: dt.time) -> list[Any]:
    if value.tzinfo is not None and type(value.tzinfo) is not dt.timezone:
        raise CodecError(f"a time in the zone {value.tzinfo!r}")
    return [value.isoformat(), value.fold]


_CONTAINERS: dict[type, Code] = {tuple: Code.TUPLE, set: Code.SET, frozenset: Code.FROZENSET}
_AS_TEXT: dict[type, tuple[Code, Callable[[Any], Any]]] = {
    dt.datetime: (Code.DATETIME, _write_datetime),
    dt.date: (Code.DATE, dt.date.isoformat),
    dt.time: (Code.TIME, _write_time),
    dt.timedelta: (Code.TIMEDELTA, lambda value: [value.days, value.seconds, value.microseconds]),
    uuid.UUID: (Code.UUID, lambda value: value.bytes),
    decimal.Decimal: (Code.DECIMAL, str),
    complex: (Code.COMPLEX, lambda value: [value.real, value.imag]),
}


def _wrap_array(value: Any) -> msgspec.msgpack.Ext:
    """numpy and pandas objects; whoever made them has imported the library."""
    numpy, pandas = sys.modules.get("numpy"), sys.modules.get("pandas")
    if pandas is not None:
        if type(value) is pandas.DataFrame:
            return _ext(Code.DATAFRAME, _write_frame(value))
        if type(value) is pandas.Series:
            frame = value.to_frame(name="values")
            return _ext(Code.SERIES, [_write_frame(frame), _wrap(value.name, careful=False)])
        if type(value) is pandas.Timestamp:
            zone = None if value.tzinfo is None else str(value.tzinfo)
            return _ext(Code.TIMESTAMP, [value.as_unit("ns").value, value.unit, zone])
    if numpy is not None:
        if type(value) is numpy.ndarray:
            return _ext(Code.ARRAY, _write_array(value))
        if isinstance(value, numpy.generic):
            return _ext(Code.ARRAY_SCALAR, _write_array(numpy.asarray(value)))
    raise CodecError(f"a {type(value).__module__}.{type(value).__qualname__}")


def _write_array(value: Any) -> bytes:
    import numpy

    stream = io.BytesIO()
    try:
        numpy.save(stream, value, allow_pickle=False)
    except ValueError as error:
        raise CodecError(f"a numpy array of {value.dtype}: {error}") from error
    return stream.getvalue()


def _read_array(content: bytes) -> Any:
    import numpy

    return numpy.load(io.BytesIO(content), allow_pickle=False)


def _write_frame(frame: Any) -> bytes:
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


def _read_frame(content: bytes) -> Any:
    with needing("a DataFrame in a cache", "parquet", CodecError):
        import pyarrow as pa
    with pa.ipc.open_stream(content) as reader:
        return reader.read_all().to_pandas()


def _read_series(parts: list[Any]) -> Any:
    content, name = parts
    return _read_frame(content)["values"].rename(name)


def _read_timestamp(parts: list[Any]) -> Any:
    import pandas

    value, unit, zone = parts
    return pandas.Timestamp(value, unit="ns", tz=zone).as_unit(unit)


_READ_RAW: dict[int, Callable[[bytes], Any]] = {
    Code.SURROGATE_TEXT: lambda content: content.decode("utf-8", "surrogatepass"),
    Code.UUID: lambda content: uuid.UUID(bytes=content),
    Code.ARRAY: _read_array,
    Code.ARRAY_SCALAR: lambda content: _read_array(content)[()],
    Code.DATAFRAME: _read_frame,
}
_READ_PACKED: dict[int, Callable[[Any], Any]] = {
    Code.NAMESPACE: lambda value: types.SimpleNamespace(**dict(value)),
    Code.TUPLE: tuple,
    Code.SET: set,
    Code.FROZENSET: frozenset,
    Code.PAIRS: dict,
    Code.BIG_INTEGER: lambda text: int(text, 16),
    Code.DATETIME: _read_datetime,
    Code.DATE: dt.date.fromisoformat,
    Code.TIME: lambda parts: dt.time.fromisoformat(parts[0]).replace(fold=parts[1]),
    Code.TIMEDELTA: lambda parts: dt.timedelta(*parts),
    Code.PATH: pathlib.Path,
    Code.DECIMAL: decimal.Decimal,
    Code.COMPLEX: lambda parts: complex(*parts),
    Code.SERIES: _read_series,
    Code.TIMESTAMP: _read_timestamp,
}


def _unwrap(code: int, content: memoryview) -> Any:
    read_packed = _READ_PACKED.get(code)
    if read_packed is not None:
        return read_packed(_unpack_plain(content))
    read_raw = _READ_RAW.get(code)
    if read_raw is None:
        raise CodecError(f"the unknown extension type {code}")
    return read_raw(bytes(content))


_unpack_plain = msgspec.msgpack.Decoder(ext_hook=_unwrap).decode
