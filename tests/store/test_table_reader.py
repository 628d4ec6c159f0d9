"""Tables with a row a run: types, repeats, decimal commas, and what is no table."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from matrix_benchmarking import kpi, store
from matrix_benchmarking.errors import MatbenchError
from matrix_benchmarking.matrix import Matrix
from matrix_benchmarking.moments import time_us
from matrix_benchmarking.store import TableReader, reader_store
from matrix_benchmarking.workload import Workload

RATE = kpi.field_kpi("rate", name="rate", help="Rate", better="higher", unit="1/s")


def parse(tmp_path: Path, content: str | bytes, **changes: Any) -> Matrix:
    (tmp_path / "runs.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    fields: dict[str, Any] = {"name": "runs.csv", "settings": ["image", "batch"], "kpis": ["rate"], **changes}
    base = reader_store([TableReader(**fields)], models_kpis=kpi.collect([RATE]))
    return store.parse_tree(Workload(name="runs", store=base), tmp_path)


def test_rows_are_runs_with_their_types_and_the_rest_is_kept(tmp_path: Path) -> None:
    matrix = parse(tmp_path, '﻿image,batch,rate,note\na,1,10.5,"x, ""y"""\na,1,11,\nb,007,1e3,z\n,2.0,true,\n')
    assert [(entry.name, entry.settings, entry.repeat, entry.kpis) for entry in matrix] == [
        ("runs.csv#row 2", {"image": "a", "batch": 1}, 0, {"rate": 10.5}),
        ("runs.csv#row 3", {"image": "a", "batch": 1}, 1, {"rate": 11.0}),
        ("runs.csv#row 4", {"image": "b", "batch": "007"}, 0, {"rate": 1000.0}),
        ("runs.csv#row 5", {"batch": 2.0}, 0, {}),
    ]
    assert matrix.entries[0].results.row == {"note": 'x, "y"'}
    assert matrix.entries[3].missing_kpis == {"rate": "rate is 'true', which is no number"}


@pytest.mark.parametrize("text", ["", "n/a", "nan", "inf", "-inf", "1e999", "1,5 ms", "1,234.5"])
def test_what_is_no_finite_number_is_unknown(tmp_path: Path, text: str) -> None:
    [entry] = parse(tmp_path, f'image,batch,rate\na,1,"{text}"\n')
    assert entry.kpis == {}
    reason = f"rate is '{text}', which is no number" if text else "rate was not measured"
    assert entry.missing_kpis == {"rate": reason}


def test_a_semicolon_comes_with_decimal_commas(tmp_path: Path) -> None:
    [entry] = parse(tmp_path, 'image;batch;rate\n"a,b";1;1,25\n')
    assert (entry.settings["image"], entry.kpis["rate"]) == ("a,b", 1.25)


@pytest.mark.parametrize(
    ("above", "lines"),
    [
        ("", 0),
        ("sep=,\n", 1),
        ("Runs of Monday\n\n", 2),
        ("# measured on Monday, by ann, and\r\n# by bob\r\n", 2),
        ("# a remark\n", 1),
    ],
)
@pytest.mark.parametrize("table", ["image,batch,rate\na,1,2\na,1,3\n", '{"image":"a","batch":1,"rate":2}\n' * 2])
def test_what_stands_above_a_table_is_none_of_it(tmp_path: Path, above: str, lines: int, table: str) -> None:
    found = parse(tmp_path, above + table)
    first = lines + (2 if table.startswith("image") else 1)
    assert [entry.name for entry in found] == [f"runs.csv#row {first}", f"runs.csv#row {first + 1}"]
    assert found.entries[0].kpis == {"rate": 2}


def test_a_header_with_a_hash_or_a_line_break_is_no_remark(tmp_path: Path) -> None:
    [one, other] = parse(tmp_path, '#id,image,rate\n1,"a,b",3\n2,c,4\n', settings=["#id", "image"])
    assert (one.settings, other.kpis) == ({"#id": 1, "image": "a,b"}, {"rate": 4})
    [broken] = parse(tmp_path, '"run\nid",image,rate\n1,a,3\n', settings=["run\nid", "image"])
    assert broken.settings == {"run\nid": 1, "image": "a"}
    assert not parse(tmp_path, '[\n{"image":"a","rate":2},\n{"image":"b","rate":3}\n]\n', settings=["image"]).entries


def test_the_separator_that_a_table_names_is_its(tmp_path: Path) -> None:
    [entry] = parse(tmp_path, "sep=;\nimage;batch,x,y;rate\na;1;2,5\n", settings=["image", "batch,x,y"])
    assert entry.settings == {"image": "a", "batch,x,y": 1}
    assert entry.kpis == {"rate": 2.5}


def test_a_column_without_a_name_is_called_by_its_number(tmp_path: Path) -> None:
    [entry] = parse(tmp_path, ",image,batch,rate,\n7,a,1,2,\n")
    assert (entry.settings, entry.kpis) == ({"image": "a", "batch": 1}, {"rate": 2})
    assert entry.results.row == {"column 1": 7, "column 5": None}


@pytest.mark.parametrize(("first", "odd", "usual"), [("1234,5", "1.310", "commas"), ("1234.5", "1310,5", "points")])
def test_a_column_with_both_decimal_signs_is_read_by_its_first(
    tmp_path: Path, first: str, odd: str, usual: str
) -> None:
    matrix = parse(tmp_path, f"image;batch;rate\na;0.5;{first}\nb;0.5;{odd}\nc;0.5;7\n")
    assert [entry.kpis["rate"] for entry in matrix] == [1234.5, 7]
    reason = matrix.unfinished[0].problems[0].reason
    assert reason == f"row 3 has '{odd}' in rate, where rows above have decimal {usual}"


def test_a_point_before_three_digits_beside_decimal_commas_may_part_thousands(tmp_path: Path) -> None:
    matrix = parse(tmp_path, "image;batch;rate;note\na;1;10.258;0,5\na;2;11;0,5\n", kpis=["rate", "note"])
    assert [entry.settings["batch"] for entry in matrix] == [2]
    (problem,) = [str(one) for entry in matrix.unfinished for one in entry.problems]
    assert "row 2 has '10.258' in rate, beside decimal commas: is it 10258?" in problem
    alone = parse(tmp_path, "image;batch;rate\na;1;10.258\na;2;10.5\n")
    assert [entry.kpis["rate"] for entry in alone] == [10.258, 10.5]


@pytest.mark.parametrize(
    ("rates", "read", "said"),
    [
        (["310", "1.250"], [310], "row 3 has '1.250' in rate, beside '310': is it 1250?"),
        (["1.250", "310"], [1.25], "row 3 has '310' in rate, beside '1.250': is that 1250?"),
        (["1.250", "310.5", "310"], [1.25, 310.5, 310], None),  # a point before one digit is a decimal one
        (["1310", "1.250"], [1310, 1.25], None),  # thousands without a point
        (["1.250", "2.125"], [1.25, 2.125], None),
        (["0.125", "2"], [0.125, 2], None),
        (["1.250", "0"], [1.25, 0], None),
        (["310", "1,250"], [310], "row 3 has '1,250' in rate, beside '310': is it 1250?"),
        (["1,250", "310"], [1.25], "row 3 has '310' in rate, beside '1,250': is that 1250?"),
        (["1,250", "310,5", "310"], [1.25, 310.5, 310], None),
        (["310,25", "310", "1,250"], [310.25, 310, 1.25], None),
        (["1310", "1,250"], [1310, 1.25], None),
        (["0,125", "2"], [0.125, 2], None),
    ],
)
def test_a_mark_before_three_digits_beside_whole_numbers_may_part_thousands_where_a_semicolon_parts_cells(
    tmp_path: Path, rates: list[str], read: list[float], said: str | None
) -> None:
    lines = [f"a;x{place};{rate}\n" for place, rate in enumerate(rates)]
    matrix = parse(tmp_path, "image;batch;rate\n" + "".join(lines))
    assert [entry.kpis["rate"] for entry in matrix] == read
    problems = [one.reason for entry in matrix.unfinished for one in entry.problems]
    assert problems == ([] if said is None else [said])


def test_commas_that_all_stand_before_three_digits_are_said(tmp_path: Path) -> None:
    matrix = parse(tmp_path, "image;batch;rate\na;1;1,027\nb;1;2,385\n")
    assert [entry.kpis["rate"] for entry in matrix] == [1.027, 2.385]
    (note,) = matrix.notes
    assert "rate: '1,027' was read as 1.027, as ';' parts the cells: write it without the comma" in note
    other = parse(tmp_path, "image;batch;rate\na;0,5;1,027\nb;0,5;2,385\n")
    assert other.notes == []


@pytest.mark.parametrize("last", ["Total,6,500", " average ,,20.0"])
def test_a_row_that_sums_up_those_above_it_is_no_run(tmp_path: Path, last: str) -> None:
    matrix = parse(tmp_path, f"image,batch,rate\na,8,10\nb,8,20\nc,8,30\n{last}\n")
    assert [entry.settings["image"] for entry in matrix] == ["a", "b", "c"]
    word = last.partition(",")[0].strip()
    assert [one.reason for entry in matrix.unfinished for one in entry.problems] == [
        f"row 5 says '{word}' and is taken for no run; call it otherwise if it is one"
    ]


@pytest.mark.parametrize("summed", ["onnx Total,1", "onnx minimum,8", "Average,"])
def test_rows_that_sum_up_groups_are_no_runs_wherever_they_are(tmp_path: Path, summed: str) -> None:
    of_torch = summed.replace("onnx", "torch")
    rows = f"onnx,1,10\nonnx,1,20\n{summed},15\ntorch,1,10\ntorch,1,30\n{of_torch},20\nGrand Maximum,1,40\n"
    matrix = parse(tmp_path, f"image,batch,rate\n{rows}")
    assert [entry.settings["image"] for entry in matrix] == ["onnx", "onnx", "torch", "torch"]
    (problem,) = [str(one) for entry in matrix.unfinished for one in entry.problems]
    assert f"row 4 says '{summed.partition(',')[0]}' and is taken for no run" in problem
    assert "2 more can't be read" in problem
    assert len(parse(tmp_path, "image,batch,rate\nonnx,1,30\nonnx Total,1,20\nx Total,2,20\n").entries) == 2


def test_rows_that_sum_up_numbered_repeats_are_no_runs(tmp_path: Path) -> None:
    settings = ["image"]
    of_each = ((1, 10), (2, 12), ("mean", 11), ("std", 1))
    rows = "".join(f"{run},{image},{rate}\n" for image in "ab" for run, rate in of_each)
    matrix = parse(tmp_path, f"run,image,rate\n{rows}", settings=settings)
    assert [entry.kpis["rate"] for entry in matrix] == [10, 12] * 2
    (problem,) = [str(one) for entry in matrix.unfinished for one in entry.problems]
    assert "row 4 says 'mean' and is taken for no run" in problem
    named = parse(tmp_path, "run,image,rate\nmean,a,10\nmax,a,12\nmin,b,7\n", settings=settings)
    assert len(named.entries) == 3
    as_setting = parse(tmp_path, "iter,rate\n100,3\n200,4\nmax,9\n", settings=["iter"])
    assert [entry.settings["iter"] for entry in as_setting] == [100, 200, "max"]


def test_functions_that_are_called_like_summaries_are_runs(tmp_path: Path) -> None:
    pooling = "m1,conv,3,10\nm1,attention,8,11\nm1,mean,,4\nm1,max,,4.2\nm2,conv,3,12\nm2,mean,,3\n"
    named = ["model", "pooling", "window"]
    assert len(parse(tmp_path, f"model,pooling,window,rate\n{pooling}", settings=named).entries) == 6
    assert len(parse(tmp_path, "image,batch,rate\nbase,1,10\n# 1,1,9\n# 2,1,8\n").entries) == 3


@pytest.mark.parametrize("word", ["NaN", "n/a", "NA", "-", "null", ""])
def test_a_setting_that_says_nothing_is_not_set(tmp_path: Path, word: str) -> None:
    matrix = parse(tmp_path, f"image,batch,rate\na,{word},10\na,,20\na,none,30\n")
    assert [(entry.settings, entry.repeat) for entry in matrix] == [
        ({"image": "a"}, 0),
        ({"image": "a"}, 1),
        ({"image": "a", "batch": "none"}, 0),
    ]


@pytest.mark.parametrize(
    ("others", "words", "said"),
    [
        (["EU", "ASIA"], ["NA"], "'NA' in 1 of 3 rows is"),
        (["EU"], ["NA", "-", "na"], "'NA' and '-' and 'na' in 3 of 4 rows are"),
        (["EU", "ASIA"], ["-", "", "-"], None),  # of one kind, and none that is also a name
        (["EU", "ASIA"], ["NaN", ""], None),
        (["1", "8"], ["NA", "-"], None),  # beside numbers they can mean nothing else
        (["EU", "none"], ["", ""], None),
    ],
)
def test_words_for_nothing_that_may_mean_something_are_noted(
    tmp_path: Path, others: list[str], words: list[str], said: str | None
) -> None:
    rows = "".join(f"{word},1,{place}\n" for place, word in enumerate([*others, *words], start=1))
    matrix = parse(tmp_path, f"image,batch,rate\n{rows}")
    assert len(matrix) == len(others) + len(words)
    assert not matrix.unfinished
    advice = "taken for not set, like an empty cell: write another word if this means something"
    assert matrix.notes == ([] if said is None else [f"runs.csv: image: {said} {advice}"])


def test_a_word_for_a_sum_that_comes_again_is_a_setting(tmp_path: Path) -> None:
    matrix = parse(
        tmp_path, "phase,batch,rate\ntotal,1,30\ndecode,1,20\ntotal,2,32\ndecode,2,22\n", settings=["phase", "batch"]
    )
    assert sorted(entry.name for entry in matrix) == [f"runs.csv#row {number}" for number in (2, 3, 4, 5)]
    assert not matrix.unfinished
    assert len(parse(tmp_path, "image,batch,rate\nmean,1,30\nmedian,1,20\n").entries) == 2
    assert len(parse(tmp_path, "image,batch,rate\nsort,1,30\nsum,1,20\nmean,1,20\nmax,1,20\n").entries) == 4
    assert len(parse(tmp_path, "image,batch,rate\nsort,1,30\nsum,1,20\nsum,2,20\n").entries) == 3
    last = parse(tmp_path, "image,batch,rate\nsort,1,30\nscan,1,20\nTotal:,2,50\nAverage,1,25\n")
    assert [entry.settings["image"] for entry in last] == ["sort", "scan"]


@pytest.mark.parametrize(
    ("rows", "odd"),
    [
        ("a,8,10|b,8,20|TOTAL (2 runs),16,30", ["TOTAL (2 runs)"]),
        ("a,8,10|b,8,20|Σ,16,30|Overall,16,30|Median,8,15|Std. Dev.,0,5", ["Σ", "Overall", "Median", "Std. Dev."]),
        ("a,8,10|b,8,20|median,8,15|min,8,10|max,8,20", ["median", "min", "max"]),
        ("a,8,10|b,8,20|Std dev,,0.5", ["Std dev"]),
        ("1,a,10|2,b,20|,Total,30", ["Total"]),
        ("a,8,10|# the fan was on,8,5|b,8,20", ["# the fan was on"]),
        ("a,8,20|a,8,21|Total,8,41|b,8,23|b,8,24|Total,8,47", ["Total", "Total"]),
        ("a,8,20|a,8,22|Ø,,21|Max,,22|std,,1.4|b,8,23|b,8,24|Ø,,23.5|Min,,23", ["Ø", "Max", "std", "Ø", "Min"]),
        ("a,8,0.2|b,8,0.2|c,8,0.3|Max,8,0.3|Moyenne,8,0.23|d,8,1", ["Max", "Moyenne"]),
        ("a,8,20|b,8,30|c,8,40|Gesamtergebnis,8,90|Durchschnitt,8,30|Mean a,8,20", ["Gesamtergebnis", "Durchschnitt"]),
        ("a,1,20|a,8,30|a,avg,25|b,1,30|b,8,40|b,avg,35|Grand Total,9,120", ["avg", "avg", "Grand Total"]),
        ("a,8,20|b,8,30|sum,8,40|c,8,30", []),
        ("a,8,20|mean,8,20|b,8,30", []),
        ("abs,2,0|sqrt,2,0|mean,2,0|sum,4,0|std,9,0|log,3,0", []),
        ("abs,8,10|sqrt,8,20|total,8,30|log,8,9", []),
        ("abs,,0|sqrt,,0|exp,,0|mean,5,0|log,8,9", []),
        # These are honest: functions that are called so, modes of several points, and numbers of an issue.
        ("add,8,10|mul,8,20|sum,8,15|mean,8,17|min,8,12|max,8,13", []),
        ("a,max,30|a,min,10|a,mean,20|b,max,30|b,min,10|b,mean,20", []),
        ("max,1,30|min,1,10|mean,1,20|max,2,30|min,2,10|mean,2,20", []),
        ("a,8,10|b,8,20|sum(x),8,30|max,8,40", []),
        ("# 1,8,10|# 2,8,20|# 3,8,20", []),
        ("#1,8,10|c,8,20|#3,8,20", []),
    ],
)
def test_what_sums_up_is_told_from_runs_by_its_words_its_place_and_its_numbers(
    tmp_path: Path, rows: str, odd: list[str]
) -> None:
    matrix = parse(tmp_path, "image,batch,rate\n" + rows.replace("|", "\n") + "\n")
    assert len(matrix) == rows.count("|") + 1 - len(odd)
    problems = [one.reason for entry in matrix.unfinished for one in entry.problems]
    assert len(problems) == (1 if odd else 0)
    assert all(f"says '{odd[0]}' and is taken for no run" in one for one in problems)


def test_a_setting_that_is_written_two_ways_is_a_problem_of_the_file(tmp_path: Path) -> None:
    content = "image,batch,rate\na,3.1,10\na,3.10,20\na,3.2,30\n"
    matrix = parse(tmp_path, content)
    assert [entry.settings["batch"] for entry in matrix] == [3.1, 3.1, 3.2]
    (problem,) = [str(one) for entry in matrix.unfinished for one in entry.problems]
    assert "the column 'batch' writes one number as 3.1 and as 3.10, which were taken for the same" in problem
    other = tmp_path / "other"  # whose cache knows no other reader
    other.mkdir()
    assert not parse(other, content, texts=["batch"]).unfinished
    assert not parse(tmp_path, "image,batch,rate\na,3.1,1.0\na,3.1,1.00\n").unfinished


def test_a_version_that_looks_like_a_number_is_noted_in_rows_that_came_later_too(tmp_path: Path) -> None:
    content = "image,batch,rate\na,3.8,1\na,3.9,2\n"
    assert not parse(tmp_path, content).notes
    later = parse(tmp_path, content + "a,3.10,3\na,3.11,3\n")
    assert later.notes == ["runs.csv: batch: 3.10 was read as 3.1: name it in `texts` if it isn't that number"]
    other = tmp_path / "other"  # whose cache knows no other reader
    other.mkdir()
    assert not parse(other, content + "a,3.10,3\n", texts=["batch"]).notes


def test_rows_whose_exit_code_is_not_zero_failed(tmp_path: Path) -> None:
    content = "image,batch,rate,exit_code\na,1,10,0\na,2,900,137\na,3,11,\na,4,12,ok\na,5,13,-9\na,6,3,OOM\n"
    matrix = parse(tmp_path, content)
    assert [entry.settings["batch"] for entry in matrix.entries if entry.failed] == [2, 5, 6]
    assert matrix.entries[1].exit_code == 137
    without = parse(tmp_path, content.replace("137", "0").replace("-9", "0").replace("OOM", "0"))
    good = [entry.test_uuid for entry in matrix.entries if not entry.failed]
    assert good == [without.entries[at].test_uuid for at in (0, 2, 3)]  # ids stay what they were
    assert not any(entry.failed for entry in parse(tmp_path, content, settings=["image", "batch", "exit_code"]))


def test_an_exit_code_that_is_true_or_false_is_noted(tmp_path: Path) -> None:
    content = "image,batch,rate,exit_code\na,1,10,0\na,2,9,FALSE\na,3,11,TRUE\na,4,12,ok\n"
    matrix = parse(tmp_path, content)
    assert not any(entry.failed for entry in matrix)
    said = "TRUE or FALSE as exit_code is taken for success: write 0, or another number for a failure; rows: 2"
    assert matrix.notes == [f"runs.csv: {said}"]
    other = tmp_path / "other"  # whose cache knows no other reader
    other.mkdir()
    assert not parse(other, content, settings=["image", "batch", "exit_code"]).notes
    assert not parse(tmp_path, content.replace("FALSE", "passed").replace("TRUE", "1")).notes


def test_objects_a_line_keep_their_types_and_blank_lines_are_passed_over(tmp_path: Path) -> None:
    one, two = (
        '{"image": "1", "batch": 1, "rate": 2, "more": [1]}',
        '{"image": 1, "batch": 1, "rate": null, "repeat": 3}',
    )
    matrix = parse(tmp_path, f"{one}\n\n{two}\n")
    assert [(entry.settings["image"], entry.kpis) for entry in matrix] == [("1", {"rate": 2.0}), (1, {})]
    assert [entry.repeat for entry in matrix] == [0, 0]


def test_an_object_need_not_say_what_others_do_and_a_setting_of_none_is_noted(tmp_path: Path) -> None:
    lines = ['{"batch": 1, "rate": 2}', '{"image": "a", "batch": 1}', '{"rate": 3, "batch": 2, "other": 1}']
    matrix = parse(tmp_path, "\n".join(lines))
    assert [(entry.settings, entry.kpis) for entry in matrix] == [
        ({"batch": 1}, {"rate": 2.0}),
        ({"image": "a", "batch": 1}, {}),
        ({"batch": 2}, {"rate": 3.0}),
    ]
    assert not matrix.notes
    assert "no row says image, which is a setting" in " ".join(parse(tmp_path, lines[0]).notes)


@pytest.mark.parametrize("settings", [["image", "batch"], [" image", "batch "]])
def test_an_object_s_names_may_have_blanks_around_them_as_those_of_a_csv_file(
    tmp_path: Path, settings: list[str]
) -> None:
    rows = '{" image":"a","batch ":1," rate":2}\n{"image":"b","batch":1,"rate":3}\n{"image":"c"," image":"d"}\n'
    matrix = parse(tmp_path, rows, settings=settings)
    assert [[*entry.settings.values(), entry.kpis["rate"]] for entry in matrix] == [["a", 1, 2.0], ["b", 1, 3.0]]
    [twice] = matrix.unfinished
    assert twice.problems[0].reason == "row 3 is no valid JSON: it names 'image' twice"


def test_nan_in_an_object_is_nothing_as_in_a_cell_and_infinity_is_no_number(tmp_path: Path) -> None:
    rows = ['{"image":"a","batch":NaN,"rate":2}', '{"image":"a","batch":1,"rate":NaN}', '{"image":"b","rate":Infinity}']
    matrix = parse(tmp_path, "\n".join(rows))
    assert [(entry.settings, entry.kpis) for entry in matrix] == [
        ({"image": "a"}, {"rate": 2.0}), ({"image": "a", "batch": 1}, {}), ({"image": "b"}, {})
    ]  # fmt: skip
    missing = [entry.missing_kpis.get("rate") for entry in matrix]
    assert missing == [None, "rate was not measured", "rate is 'inf', which is no number"]


def test_an_object_may_be_longer_than_a_cell_and_one_nested_too_deeply_is_not_read(tmp_path: Path) -> None:
    long, deep = ", ".join(["1"] * 50_000), "[" * 100_000 + "]" * 100_000
    matrix = parse(tmp_path, "".join(f'{{"image":"a","batch":1,"rate":2,"of":{of}}}\n' for of in (f"[{long}]", deep)))
    assert [entry.kpis for entry in matrix] == [{"rate": 2.0}]
    [row] = matrix.unfinished
    assert row.problems[0].reason.startswith("row 2 is no valid JSON: maximum recursion depth exceeded")


def test_an_object_with_an_empty_time_or_a_huge_exit_code_is_a_run_as_others(tmp_path: Path) -> None:
    row = '{"image":"a","batch":1,"rate":2,"at":"","exit_code":%s}\n'
    matrix = parse(tmp_path, row % 0 + row % 1e300 + row % (1 << 63), time="at")
    assert matrix.to_dataframe()["exit_code"].dropna().tolist() == [1, 1]
    assert ([entry.span_us for entry in matrix], matrix.unfinished) == ([(None, None)] * 3, [])


@pytest.mark.parametrize(
    "table",
    [
        "image,batch,repeat,rate\na,1,,1\na,1,1.0,2\n",
        '{"image":"a","batch":1,"repeat":null,"rate":1}\n{"image":"a","batch":1,"repeat":1.0,"rate":2}\n',
    ],
)
def test_a_repeat_may_be_written_as_pandas_does_where_a_row_has_none(tmp_path: Path, table: str) -> None:
    matrix = parse(tmp_path, table, settings=["image", "batch", "repeat"])
    assert [(entry.repeat, entry.kpis["rate"]) for entry in matrix] == [(0, 1.0), (1, 2.0)]


def test_a_time_that_is_none_in_utc_is_not_read(tmp_path: Path) -> None:
    matrix = parse(tmp_path, "image,batch,rate,at\na,1,2,0001-01-01T00:00+01:00\na,1,2,0001-01-01T00:00Z\n", time="at")
    assert [entry.name for entry in matrix] == ["runs.csv#row 3"]
    assert matrix.unfinished[0].problems[0].reason.startswith("row 2 has '0001-01-01T00:00+01:00' where an ISO")


def test_an_object_that_names_something_twice_is_not_read(tmp_path: Path) -> None:
    line = '{"image": "a", "batch": 1, "rate": 12}'
    matrix = parse(tmp_path, f'{line}\n{{"image": "a", "batch": 1, "rate": 12, "rate": 900}}\n')
    assert [entry.kpis["rate"] for entry in matrix] == [12]
    assert matrix.unfinished[0].problems[0].reason == "row 2 is no valid JSON: it names 'rate' twice"


def test_a_column_repeat_and_a_time_are_as_given(tmp_path: Path) -> None:
    rows = "image,batch,rate,repeat,day\na,1,1,7,2026-03-01\na,1,1,8,\na,1,1,9,2026-03-01T10:00:00+02:00\n"
    matrix = parse(tmp_path, rows, settings=["image", "batch", "repeat"], time="day")
    assert [entry.repeat for entry in matrix] == [7, 8, 9]
    assert [entry.span_us[0] for entry in matrix] == [
        time_us(dt.datetime(2026, 3, 1, tzinfo=dt.UTC)), None, time_us(dt.datetime(2026, 3, 1, 8, tzinfo=dt.UTC))
    ]  # fmt: skip


@pytest.mark.parametrize("zones", [("", ""), ("Z", "+09:00"), ("", "+09:00")])
def test_times_of_which_some_name_no_zone_are_a_problem_of_the_file(tmp_path: Path, zones: tuple[str, str]) -> None:
    rows = "".join(f"a,1,1,2026-03-01T1{hour}:00:00{zone}\n" for hour, zone in enumerate(zones * 2))
    matrix = parse(tmp_path, f"image,batch,rate,at\n{rows}", time="at")
    assert len(matrix) == 4
    said = "2 of 4 times name no zone and were taken for UTC's: write all with one"
    assert [problem.reason for one in matrix.unfinished for problem in one.problems] == (
        [said] if zones[0] != "Z" and zones[1] else []
    )
    assert (matrix.tests, list(matrix.damaged_files)) == (4, list(matrix.unfinished))  # a file is no test of its own


@pytest.mark.parametrize(
    ("content", "kept", "reason"),
    [
        ("image,batch,rate\na,1,1\na,1\n", 1, "row 3 has not as many cells as the first row"),
        ("image,batch,rate\na,1,1,2\n", 0, "row 2 has not as many cells as the first row"),
        ("image,image,rate\na,1,1\n", 0, "its first row has the name 'image' twice"),
        ("image,rate\na,1\n", 0, "row 2 has no column 'batch'; it has image, rate"),
        (b"image,batch,rate\na,1,\xff\n", 0, "is no text in UTF-8: save it as CSV in UTF-8"),
        ('image,batch,rate\na,1,"1\n', 0, "is no table: unexpected end of data"),
        ('{"image": 1, "batch": 1, "rate": 1}\n[]\n', 1, "row 2 holds no JSON object"),
        (
            "image,batch,rate\na,1,1\na,1\nb,1\na,1,3\n",
            2,
            "row 3 has not as many cells as the first row; 1 more can't be",
        ),
        (
            '{"image": 1, "batch": 1, "rate": 1}\n{"im\n{"image": 2, "batch": 1, "rate": 1}\n',
            2,
            "row 2 is no valid JSON: I",
        ),
        ("image,batch,rate\n", 0, "holds no result"),
    ],
)
def test_what_is_no_table_is_said_and_the_other_rows_stay(
    tmp_path: Path, content: str | bytes, kept: int, reason: str
) -> None:
    matrix = parse(tmp_path, content)
    assert len(matrix) == kept
    assert [entry.problems[0].reason[: len(reason)] for entry in matrix.unfinished] == [reason]


def test_other_files_beside_the_table_are_no_concern_of_its(tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("image,batch,rate\nz,1,1\n")
    matrix = parse(tmp_path, "image,batch,rate\na,1,1\n")
    assert (len(matrix), matrix.notes) == (1, [])
    (tmp_path / "runs.csv").unlink()
    with pytest.raises(MatbenchError, match=r"looks for result files of runs\.csv"):
        store.parse_tree(
            Workload(
                name="runs", store=reader_store([TableReader(name="runs.csv", settings=["image"], kpis=["rate"])])
            ),
            tmp_path,
        )


def test_versions_are_as_they_are_written(tmp_path: Path) -> None:
    content = "version,batch,rate\n1.1,1,100\n1.10,1,50\n1.9,01,70\n"
    matrix = parse(tmp_path, content, settings=["version", "batch"])
    assert [entry.settings["version"] for entry in matrix] == ["1.1", "1.10", "1.9"]


def test_a_row_is_the_same_run_wherever_other_rows_are_added(tmp_path: Path) -> None:
    def ids(*rows: str) -> list[str]:
        return [str(entry.test_uuid) for entry in parse(tmp_path, "\n".join(["image,batch,rate", *rows]) + "\n")]

    known = ids("a,1,10", "a,1,11", "a,1,10", "b,1,10")
    assert len(set(known)) == 4  # the first and the third are two runs
    assert ids("a,1,12", "c,1,9", "a,1,10", "a,1,11", "a,1,10", "b,1,10")[2:] == known
    assert ids("b,1,10", "a,1,11", "a,1,10", "a,1,10") == [known[3], known[1], known[0], known[2]]
    assert set(ids("a,1,10", "a,1,11.5", "a,1,10", "b,1,10")) & set(known) == {known[0], known[2], known[3]}


def test_a_row_that_names_other_columns_begins_another_table(tmp_path: Path) -> None:
    matrix = parse(tmp_path, "image,batch,rate\na,1,10\n\nimage,batch,p95\na,1,3\nb,1,4\n")
    assert [entry.kpis["rate"] for entry in matrix] == [10.0]
    said = "row 4 begins another table (image, batch, p95), which takes no part"
    assert [problem.reason for one in matrix.damaged_files for problem in one.problems] == [said]


@pytest.mark.parametrize("again", ["image,batch,rate", "image, batch, rate", "image,batch,rate,", "image,batch,10"])
def test_a_row_that_names_the_same_columns_or_holds_a_number_begins_no_other_table(again: str, tmp_path: Path) -> None:
    matrix = parse(tmp_path, f"image,batch,rate\na,1,10\n{again}\nb,1,20\n")
    assert {10.0, 20.0} <= {entry.kpis.get("rate") for entry in matrix}


@pytest.mark.parametrize(
    "table",
    [
        "image;lat (p50, p95, p99), ms, mean;batch;rate\na;1,5;1;10\n",
        'image,batch,rate\n"a, b",1,10\n',
        "image\tbatch\trate\na; b; c\t1\t10\n",
    ],
)
def test_what_parts_the_cells_of_two_lines_alike_is_the_separator(table: str, tmp_path: Path) -> None:
    assert [entry.kpis["rate"] for entry in parse(tmp_path, table)] == [10.0]


def test_words_that_are_no_state_are_said_at_reading(tmp_path: Path) -> None:
    def said(*rows: str) -> str:
        matrix = parse(tmp_path, "\n".join(["image,batch,rate,status", *rows]) + "\n")
        return "; ".join([*(str(one) for run in matrix.unfinished for one in run.problems), *matrix.notes])

    states = [f"a,{batch},1.5,ok" for batch in range(3)]
    assert said(*states) == ""
    assert "status: 'abgestürzt' in 1 of 4 rows, taken for a success" in said(*states, "a,4,1.5,abgestürzt")
    assert "status: '?' in 1 of 4 rows, taken for a success" in said(*states, "a,4,1.5,?")
    assert said(*states, "a,4,1.5,-", "a,5,1.5,✓") == ""
    marked = parse(tmp_path, "image,batch,rate,status\na,1,2,✔️\na,2,3,✗\na,3,4,❌ OOM\n")
    assert [entry.failed for entry in marked] == [False, True, True]


def test_a_sum_of_numbers_with_commas_between_thousands_is_no_run(tmp_path: Path) -> None:
    rows = 'image,batch,rate\na,1,"1,200"\na,2,"2,300"\nb,1,950\nb,2,"1,800"\nTotal,,"6,250"\n'
    matrix = parse(tmp_path, rows, thousands=["rate"])
    assert [run.kpis["rate"] for run in matrix] == [1200, 2300, 950, 1800]


@pytest.mark.parametrize(
    ("rates", "end", "is_cut"),
    [
        ("12345 12346 12347 12348 12349 12350 123", "", True),
        ("12345 12346 12347 12348 12349 12350 123", "\n", False),
        ("1200 1300 1100 95", "", False),  # few whole numbers may lie so
        ("12345 12346 12347 98765", "", False),
        ("1.25 12.125 7.75 1.5", "", False),  # shorter ones are usual
        ("0.9871 0.9882 0.9893 0.", "", True),
        ("105 987 400 98", "", False),  # not small enough
        ("80 40 20 7", "", False),
        ("12345 123", "", False),  # of one nobody knows
        ("120.51 130.22 110.37 9.87", "", False),  # with its decimals
        ("120.51 130.22 110.37 9.8", "", True),
        ("1000 1000 1000 0", "", False),
        ("0.9871 0.9882 0.9893 0", "", True),
    ],
)
def test_a_last_number_that_was_cut_off_with_its_line_takes_no_part(
    rates: str, end: str, is_cut: bool, tmp_path: Path
) -> None:
    rows = [f"a,{batch},{rate}" for batch, rate in enumerate(rates.split())]
    matrix = parse(tmp_path, "\n".join(["image,batch,rate", *rows]) + end)
    assert [entry.kpis["rate"] for entry in matrix] == [*map(float, rates.split())][: -1 if is_cut else None]
    assert (["was it cut off?" in one.problems[0].reason for one in matrix.unfinished]) == [True] * is_cut


def test_a_last_number_that_was_cut_off_before_its_unit_takes_no_part(tmp_path: Path) -> None:
    rows = "".join(f"a,{batch},12{batch} ms\n" for batch in range(3))
    matrix = parse(tmp_path, f"image,batch,rate\n{rows}a,3,12", units={"rate": "ms"})
    assert [entry.kpis["rate"] for entry in matrix] == [120, 121, 122]
    assert "row 5 has '12' in rate" in matrix.unfinished[0].problems[0].reason
    whole = parse(tmp_path, f"image,batch,rate\n{rows}a,3,7 ms", units={"rate": "ms"})
    assert [entry.kpis["rate"] for entry in whole] == [120, 121, 122, 7]
    rows = "".join(f"a;{batch};1.20{batch},51\n" for batch in range(3))
    marked = parse(tmp_path, f"image;batch;rate\n{rows}a;3;9,87", thousands=["rate"])
    assert [entry.kpis["rate"] for entry in marked] == [1200.51, 1201.51, 1202.51, 9.87]


def test_the_rows_above_a_quote_that_is_cut_off_take_part(tmp_path: Path) -> None:
    matrix = parse(tmp_path, 'image,batch,rate\na,1,10\na,2,11\na,3,"1')
    assert [entry.kpis["rate"] for entry in matrix] == [10, 11]


def test_rows_without_any_cell_are_no_runs(tmp_path: Path) -> None:
    matrix = parse(tmp_path, "image,batch,rate\na,1,2\n,,\nb,1,3\n , ,\n,,\n")
    assert [entry.name for entry in matrix] == ["runs.csv#row 2", "runs.csv#row 4"]
    assert not matrix.unfinished


@pytest.mark.parametrize(
    ("cell", "value"), [("12345678901234567890", 12345678901234567890.0), ("007", 7.0), ("+012", 12.0)]
)
def test_a_kpi_of_many_digits_or_with_zeros_in_front_is_a_number(cell: str, value: float, tmp_path: Path) -> None:
    [entry] = parse(tmp_path, f"image,batch,rate\na,{cell},{cell}\n")
    assert entry.kpis == {"rate": value}
    assert entry.settings["batch"] == cell


def test_an_object_is_one_setting_in_whichever_order_its_fields_are(tmp_path: Path) -> None:
    lines = ['{"image": {"x": 1, "y": 2}, "batch": 1, "rate": 2}', '{"image": {"y": 2, "x": 1}, "batch": 1, "rate": 3}']
    one, two = parse(tmp_path, "\n".join([*lines, ""]))
    assert one.settings == two.settings
    assert (one.repeat, two.repeat) == (0, 1)
