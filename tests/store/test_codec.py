"""Results survive the cache with their types."""

from __future__ import annotations

import contextlib
import datetime as dt
import decimal
import pathlib
import types
import uuid
import zoneinfo

import msgspec
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as numpy_strategies

from matrix_benchmarking.store import codec

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters())
    | st.binary()
    | st.datetimes(timezones=st.none() | st.just(dt.UTC) | st.just(dt.timezone(dt.timedelta(hours=5, minutes=30))))
    | st.dates()
    | st.times()
    | st.timedeltas()
    | st.uuids()
    | st.decimals(allow_nan=False)
    | st.complex_numbers(allow_nan=False)
    | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1).map(pathlib.Path)
)
HASHABLE = st.none() | st.booleans() | st.integers() | st.text() | st.tuples(st.integers(), st.text()) | st.dates()
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(HASHABLE, inner, max_size=4)
        | st.tuples(inner, inner)
        | st.sets(HASHABLE, max_size=4)
        | st.frozensets(HASHABLE, max_size=4)
        | st.dictionaries(st.from_regex("[a-z_]{1,8}", fullmatch=True), inner, max_size=4).map(
            lambda fields: types.SimpleNamespace(**fields)
        )
    ),
    max_leaves=12,
)


def shape(value):
    """*value* and the types of all its parts, comparable: 1, 1.0 and True differ."""
    kind = type(value).__name__
    if isinstance(value, types.SimpleNamespace):
        return kind, {name: shape(item) for name, item in vars(value).items()}
    if isinstance(value, dict):
        return kind, [(shape(key), shape(item)) for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return kind, [shape(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return kind, sorted(repr(shape(item)) for item in value)
    return kind, repr(value)


@given(VALUES)
def test_values_come_back_with_their_types(value):
    assert shape(codec.unpack(codec.pack(value))) == shape(value)


@given(
    numpy_strategies.arrays(
        st.one_of(
            numpy_strategies.integer_dtypes(),
            numpy_strategies.floating_dtypes(),
            numpy_strategies.boolean_dtypes(),
            numpy_strategies.datetime64_dtypes(),
            numpy_strategies.unicode_string_dtypes(max_len=4),
        ),
        numpy_strategies.array_shapes(max_dims=3, max_side=4),
    )
)
def test_numpy_arrays_come_back_with_type_and_shape(array):
    back = codec.unpack(codec.pack(types.SimpleNamespace(a=array))).a
    assert back.dtype == array.dtype
    np.testing.assert_array_equal(back, array)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": [1, 2], "b": [0.5, None], "c": ["x", None], "d": [True, False]}),
        pd.DataFrame({"t": pd.to_datetime(["2026-01-01", "2026-01-02"], utc=True)}, index=["r", "s"]),
        pd.DataFrame({"n": pd.array([1, None], dtype="Int64"), "k": pd.Categorical(["u", "v"])}),
        pd.DataFrame({"x": [1.0]}, index=pd.MultiIndex.from_tuples([("a", 1)], names=["l", "m"])),
        pd.DataFrame(),
    ],
    ids=["plain", "times", "extension types", "multi-index", "empty"],
)
def test_data_frames_come_back_equal(frame):
    pd.testing.assert_frame_equal(codec.unpack(codec.pack(frame)), frame)


def test_series_numpy_scalars_and_timestamps_come_back():
    series = pd.Series([1, 2, 3], index=[5, 6, 7], name="s")
    pd.testing.assert_series_equal(codec.unpack(codec.pack(series)), series)
    scalar = codec.unpack(codec.pack(np.float32(0.5)))
    assert type(scalar) is np.float32
    moment = pd.Timestamp("2026-01-02T03:04:05.123456789", tz="Europe/Berlin")
    assert codec.unpack(codec.pack(moment)) == moment


def test_zones_survive():
    moment = dt.datetime(2026, 10, 25, 2, 30, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin"), fold=1)
    back = codec.unpack(codec.pack(moment))
    assert back.tzinfo == moment.tzinfo
    assert back.utcoffset() == moment.utcoffset()


@pytest.mark.parametrize(
    "value",
    [
        object(),
        types.SimpleNamespace(f=len),
        np.array([object()]),
        uuid.SafeUUID.safe,
        pd.DataFrame({"o": [object()]}),
    ],
    ids=["object", "function", "object array", "enumeration", "object column"],
)
def test_what_cannot_be_kept_is_refused(value):
    with pytest.raises(codec.CodecError):
        codec.pack(value)


def test_results_that_contain_themselves_are_refused():
    results = types.SimpleNamespace()
    results.me = results
    with pytest.raises(codec.CodecError, match="contain themselves"):
        codec.pack(results)


@given(st.binary(max_size=200))
def test_foreign_bytes_are_refused_and_never_crash(content):
    with contextlib.suppress(codec.CodecError):
        codec.unpack(content)


def test_an_array_that_would_run_code_is_refused(tmp_path):
    """A pickled object array is the classic way to execute code while loading."""
    target = tmp_path / "executed"

    class Exploit:
        def __reduce__(self):
            return (open, (str(target), "w"))

    np.save(tmp_path / "evil.npy", np.array([Exploit()], dtype=object), allow_pickle=True)
    content = (tmp_path / "evil.npy").read_bytes()
    with pytest.raises(codec.CodecError):
        codec.unpack(msgspec.msgpack.encode(codec._ext(codec._ARRAY[0], content)))
    assert not target.exists()


def test_decimals_and_paths_keep_their_class():
    value = [decimal.Decimal("1.10"), pathlib.Path("a/b")]
    assert shape(codec.unpack(codec.pack(value))) == shape(value)
