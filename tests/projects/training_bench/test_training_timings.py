"""timings.feather: what is read of it, and what is refused."""

from __future__ import annotations

import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st
from training_trees import START, epochs, feather_bytes

from projects.training_bench.visualizations.store.logs import doubts_of, parse_timings


def test_epochs_come_in_the_order_of_their_index_with_what_the_loop_added():
    rows = epochs([2.0, 3.0], wait_s=[0.5, 1.5], loss=[0.9, 0.8])
    first, second = parse_timings(feather_bytes(rows[::-1]))
    assert (first.index, first.duration_s, first.start, first.end) == (0, 2.0, START, START + 2)
    assert (second.index, second.wait_s, second.read_s) == (1, 1.5, None)
    assert not hasattr(second, "loss")


def test_a_table_without_epochs_is_empty_and_no_error():
    empty = pyarrow.table(
        {name: pyarrow.array([], "float64") for name in ("epoch_index", "time", "start_time", "end_time")}
    )
    assert parse_timings(feather_bytes(empty.to_pylist()) if empty.num_rows else _bytes(empty)) == []


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([{"epoch_index": 0, "time": 1.0}], "no column start_time, end_time"),
        ([{"epoch_index": 0, "time": "long", "start_time": 1.0, "end_time": 2.0}], "'time' holds something else"),
        ([{"epoch_index": 0, "time": None, "start_time": 1.0, "end_time": 2.0}], "'time' holds something else"),
        ([{"epoch_index": 0, "time": float("nan"), "start_time": 1.0, "end_time": 2.0}], "'time' holds something else"),
        ([{"epoch_index": 0, "time": -1.0, "start_time": 1.0, "end_time": 2.0}], "'time' holds something else"),
        ([{"epoch_index": 3, "time": 0.0, "start_time": 1.0, "end_time": 2.0}], "epoch 3 has no duration"),
        ([{"epoch_index": 3, "time": 1.0, "start_time": 2.0, "end_time": 1.0}], "ends before it starts"),
        ([{"epoch_index": 3, "time": 1.0, "start_time": 2.0, "end_time": 3.0}] * 2, "epoch 3 stands there 2 times"),
        (  # milliseconds
            [{"epoch_index": 3, "time": 2000.0, "start_time": 2.0, "end_time": 4.0}],
            "epoch 3 is 2,000 s long by its 'time', and 2 s from its start to its end",
        ),
        (
            [{"epoch_index": 3, "time": 2000.0, "start_time": START * 1000, "end_time": START * 1000 + 2000.0}],
            "epoch 3 ends after the year 2200: its times want to be seconds since 1970",
        ),
    ],
)
def test_what_is_no_table_of_timings_is_refused_in_a_sentence(rows, said):
    with pytest.raises(ValueError, match=said):
        parse_timings(feather_bytes(rows))


@pytest.mark.parametrize("content", [b"", b"ARROW1", b"epoch_index,time\n0,1.0\n"])
def test_what_is_no_feather_file_is_refused(content):
    with pytest.raises(ValueError, match="not a feather file"):
        parse_timings(content)


@given(cut=st.integers(min_value=0))
def test_a_truncated_file_is_refused_or_whole(cut):
    whole = feather_bytes(epochs([1.0, 2.0, 3.0]))
    part = whole[: cut % len(whole)]
    with pytest.raises(ValueError, match="feather"):
        parse_timings(part)


def _bytes(table: pyarrow.Table) -> bytes:
    import io

    from pyarrow import feather

    stream = io.BytesIO()
    feather.write_feather(table, stream)
    return stream.getvalue()


def test_epochs_that_a_restart_appended_count_once_and_are_said():
    first, again = epochs([2.0, 3.0, 4.0]), epochs([2.5, 3.5])
    for row in again:
        row |= {"start_time": row["start_time"] + 100.0, "end_time": row["end_time"] + 100.0}
    found = parse_timings(feather_bytes([*first, *again]))
    assert [(one.index, one.duration_s, one.earlier) for one in found] == [(0, 2.5, 1), (1, 3.5, 1), (2, 4.0, 0)]
    assert doubts_of(found) == ["2 rows of epochs that come again later, as after a restart, are left out"]
    thrice = parse_timings(feather_bytes([*first, *[{**first[0], "start_time": START + 0.1 * at} for at in (1, 2)]]))
    assert thrice[0].earlier == 2


@pytest.mark.parametrize(
    ("durations", "is_said"),
    [
        ([10.0, 10.0, 10.0, 0.2], True),
        ([30.0, 10.0, 10.0, 10.0], False),  # what is read first is in memory later
        ([60.0, 1.0, 1.0, 1.0], False),
        ([10.0, 0.2], False),
        ([10.0, 10.0, 10.0, 5.0], False),
    ],
)
def test_a_last_epoch_that_is_far_shorter_than_those_before_it_is_a_doubt(durations, is_said):
    said = (
        "the last epoch took 0.2 s, and those before it 10 s: was it cut short, as by a number of steps? "
        "It counts like the others"
    )
    assert doubts_of(parse_timings(feather_bytes(epochs(durations)))) == ([said] if is_said else [])


def test_a_time_that_is_not_from_start_to_end_is_a_doubt():
    rows = epochs([2.0, 2.0])
    assert doubts_of(parse_timings(feather_bytes(rows))) == []
    rows[1]["time"] = 3.0
    (said,) = doubts_of(parse_timings(feather_bytes(rows)))
    assert said == (
        "1 of 2 epochs contradict themselves: one is 3 s long by its 'time', and 2 s from its start to its end"
    )
    rows[1] |= {"time": 0.2, "end_time": rows[1]["start_time"]}  # a clock of whole seconds
    assert len(doubts_of(parse_timings(feather_bytes(rows)))) == 1
