"""Weakly typed results as values that JSON can hold.

Namespaces become mappings, arrays and DataFrames become lists, dates become ISO 8601 text. What JSON
can't hold (NaN, infinity) becomes null: unknown, not a number that a reader would trip over; bytes of
a file name that are not UTF-8 are written with backslashes.
"""

from __future__ import annotations

import base64
import dataclasses
import datetime as dt
import enum
import math
import os
import types
import uuid
from typing import Any

import msgspec

Document = dict[str, Any]
"""A JSON object, decoded."""


def to_jsonable(value: Any) -> Any:
    """*value* built of dict, list, str, int, float, bool and None only.

    Raises:
        TypeError: a value of a type that has no obvious JSON form.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str) and not isinstance(value, enum.Enum):
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, types.SimpleNamespace):
        return to_jsonable(vars(value))
    if isinstance(value, dict):
        return {str(key): to_jsonable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [to_jsonable(item) for item in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_jsonable(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, msgspec.Struct):
        return to_jsonable(msgspec.structs.asdict(value))
    return _scalar(value)


def _scalar(value: Any) -> Any:
    if isinstance(value, enum.Enum):
        return to_jsonable(value.value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, (dt.datetime, dt.date, dt.time)):
        return value.isoformat()
    if isinstance(value, dt.timedelta):
        return value.total_seconds()
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, os.PathLike):
        return to_jsonable(os.fspath(value))
    if hasattr(value, "model_dump"):  # a Pydantic model
        return to_jsonable(value.model_dump(mode="json", by_alias=True, exclude_unset=True))
    if hasattr(value, "to_dict") and hasattr(value, "columns"):  # a pandas DataFrame
        return to_jsonable(value.to_dict(orient="list"))
    if hasattr(value, "tolist"):  # a numpy array or scalar, a pandas Series
        return to_jsonable(value.tolist())
    raise TypeError(f"a {type(value).__name__} has no JSON form")
