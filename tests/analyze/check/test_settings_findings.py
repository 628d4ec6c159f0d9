"""Findings on settings: what is misspelt, rare, or of an odd kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from matrix_benchmarking.analyze.check import AnswerKind, Finding
from matrix_benchmarking.analyze.check.settings import setting_findings as findings
from matrix_benchmarking.matrix import Entry, Matrix
from matrix_benchmarking.settings import misspelt

Runs = Sequence[dict[str, Any]]
GRID: Runs = [{"batch_size": batch, "vus": vus} for batch in (8, 32) for vus in (1, 2, 4, 8)]


@pytest.fixture
def found() -> Callable[[Runs], list[Finding]]:
    """The findings on runs with these settings."""

    def make(runs: Runs) -> list[Finding]:
        return list(findings(Matrix(Entry(run, 0, Path("/r"), f"run {n}", 0) for n, run in enumerate(runs))))

    return make


def test_an_ordinary_grid_has_no_findings(found: Callable[[Runs], list[Finding]]) -> None:
    assert found(GRID) == []
    assert found([]) == []
    assert found([{}, {}]) == []


def test_a_setting_that_stands_in_for_a_common_one_is_misspelt(found: Callable[[Runs], list[Finding]]) -> None:
    (finding,) = found([*GRID, {"batch_size": 8, "vuss": 32}])
    assert finding.kind == "misspelt-setting"
    assert finding.sentence == "1 run has 'vuss' and no 'vus', which 8 runs have: is it misspelt?"
    assert finding.changes == frozenset(AnswerKind)
    assert finding.runs == ["run 8"]


def test_a_number_of_many_digits_that_is_another_one_in_each_run_is_a_result(
    found: Callable[[Runs], list[Finding]],
) -> None:
    (finding,) = found([{"vus": vus, "watts": 405.125 + vus / 7} for vus in range(4)])
    assert finding.kind == "measured-setting"
    assert finding.sentence.startswith("'watts' is another number in each of 4 runs (405.125, ")
    assert len(finding.runs) == 4
    assert len(found([{"watts": watts} for watts in (405.1, 398, 401.7, 399.9)])) == 1
    for watts in ((0.1, 0.25, 0.5, 1.5), (405.125, 405.125, 1.2345, 2.3456), (1024, 2048, 4096, 8192), (1.2345,) * 3):
        assert found([{"watts": value} for value in watts]) == []


@pytest.mark.parametrize("word", ["Total", "Gesamtergebnis:", "Mean onnx-int8", "onnx-int8 max"])
def test_a_value_that_says_that_it_sums_up_others_is_asked_about(
    found: Callable[[Runs], list[Finding]], word: str
) -> None:
    (finding,) = found(of_images(word))
    assert finding.sentence == f"'image' is '{word}' in 1 run: does it sum up others? Then its row is no run."
    assert finding.changes == frozenset(AnswerKind)
    assert found(of_images("mean")) == found(of_images("max pool")) == []


def of_images(*images: str, repeats: int = 3) -> list[dict[str, Any]]:
    """Repeats of a point for each of *images*, beside two whole points of ``onnx-int8``."""
    return [{"image": "onnx-int8", "vus": vus} for vus in (1, 2) for _ in range(repeats)] + [
        {"image": image, "vus": 4} for image in images
    ]


@pytest.mark.parametrize("image", ["onnx-in8", "onnx-itn8", "onnx.int8", "onnnx-int8"])
def test_a_value_of_just_the_run_that_a_point_lacks_is_misspelt(
    image: str, found: Callable[[Runs], list[Finding]]
) -> None:
    (finding,) = found(of_images("onnx-int8", image, "onnx-int8"))
    assert finding.kind == "misspelt-value"
    said = f"1 run has 'image' '{image}', just where 'onnx-int8' lacks one: is it misspelt?"
    assert (finding.sentence, finding.runs) == (said, ["run 7"])
    assert finding.changes == frozenset(AnswerKind)


def test_swapped_letters_are_misspelt_wherever_they_are(found: Callable[[Runs], list[Finding]]) -> None:
    (finding,) = found(of_images("onnx-int8", "onnx-int8", "onnx-int8", "onnx-itn8"))
    assert finding.sentence == "1 run has 'image' 'onnx-itn8', and 9 others 'onnx-int8': is it misspelt?"


@pytest.mark.parametrize(
    "images",
    [
        ("onnx-int8", "onnx-int4", "onnx-int8"),  # other digits
        ("onnx-int8", "onnx-fp8", "onnx-int8"),  # another word
        ("onnx-int8", "onnx-int8", "onnx-int8", "onnx-uint8"),  # beside a whole point
        ("onnx-int8", "onnx-uint8"),  # whose run would not make the point whole
        ("onnx-uint8",),
        ("onnx-in8", "onnx-in8", "onnx-in8"),  # a point of its own
    ],
)
def test_another_value_is_not(images: Sequence[str], found: Callable[[Runs], list[Finding]]) -> None:
    assert [one.kind for one in found(of_images(*images))] == []


@pytest.mark.parametrize(
    ("few", "many", "meant"),
    [
        ({"vuss"}, {"vus"}, {"vuss": "vus"}),
        ({"Batch_Size"}, {"batch_size"}, {"Batch_Size": "batch_size"}),
        ({"batch-size"}, {"batch_size"}, {"batch-size": "batch_size"}),
        ({"engin"}, {"engine"}, {"engin": "engine"}),
        ({"vus", "vuss"}, {"vus"}, {}),
        ({"p95"}, {"p99"}, {}),
        ({"gpu"}, {"vus"}, {}),
        ({"verison"}, {"version"}, {"verison": "version"}),
        ({"pp_size"}, {"tp_size"}, {}),
        ({"num_cpus"}, {"num_gpus"}, {}),
        ({"encoder_layers"}, {"decoder_layers"}, {}),
    ],
)
def test_a_name_is_misspelt_if_it_is_near_to_one_that_its_runs_lack(
    few: set[str], many: set[str], meant: dict[str, str]
) -> None:
    assert misspelt([frozenset(few), *[frozenset(many)] * 10]) == meant


def test_names_of_which_neither_is_rare_are_two_settings() -> None:
    assert misspelt([frozenset({"tp_size"})] * 5 + [frozenset({"pp_size"})] * 6) == {}
    assert (
        misspelt([frozenset({"%"})] * 5 + [frozenset({"#"})] * 6)
        == misspelt([frozenset("n")] * 5 + [frozenset("N")] * 4)
        == {}
    )


@pytest.mark.parametrize(
    ("one", "other"), [("batch_size", "Batch-size"), ("d\u00e9bit", "de\u0301bit"), ("image", "im\u200bage")]
)
def test_names_that_differ_in_how_they_are_written_alone_are_one_however_many_runs_have_them(
    one: str, other: str
) -> None:
    assert misspelt([frozenset({one})] * 5 + [frozenset({other})] * 4) == {other: one}
    assert misspelt([frozenset({one})] * 5 + [frozenset({other})] * 4 + [frozenset({one, other})]) == {}


def test_a_setting_of_a_few_runs_is_good_to_know(found: Callable[[Runs], list[Finding]]) -> None:
    (finding,) = found([*GRID, {"batch_size": 8, "vus": 8, "note": "x"}])
    assert (finding.kind, finding.sentence) == ("rare-setting", "Only 1 of 9 runs has 'note'.")
    assert not finding.changes


def test_a_setting_that_a_few_runs_lack_changes_the_answers(found: Callable[[Runs], list[Finding]]) -> None:
    (finding,) = found([*GRID, {"batch_size": 8}])
    assert (finding.kind, finding.sentence) == ("missing-setting", "1 run has no 'vus', which 8 runs have.")
    assert finding.changes


@pytest.mark.parametrize(
    ("few", "of", "are_few"), [(1, 3, 0), (1, 4, 1), (2, 4, 0), (2, 19, 0), (2, 20, 1), (3, 20, 0)]
)
def test_few_runs_are_a_tenth_of_them_or_one_of_four(
    few: int, of: int, are_few: int, found: Callable[[Runs], list[Finding]]
) -> None:
    kinds = [one.kind for one in found([{"vus": 1}] * (of - few) + [{"vus": 1, "note": "x"}] * few)]
    assert kinds == ["rare-setting"] * are_few


def test_a_setting_that_another_one_explains_is_good_to_know(found: Callable[[Runs], list[Finding]]) -> None:
    (finding,) = found([*({"codec": "zstd", "level": level} for level in range(10)), {"codec": "none"}])
    assert (finding.kind, finding.changes) == ("missing-setting", frozenset())
    for others, without in (("zstd", "zstd"), (1, 2)):
        (finding, *_) = found([*({"codec": others, "level": level} for level in range(10)), {"codec": without}])
        assert (finding.kind, finding.changes) == ("missing-setting", frozenset(AnswerKind))


@pytest.mark.parametrize(
    ("odd", "shown"),
    [
        ("a b ", "'a b '"),
        ("a  b", "'a  b'"),
        ("a\u00a0b", r"'a\xa0b'"),
        ("a b\u200b", r"'a b\u200b'"),
        ("\u0430 b", r"'\u0430 b'"),
        ("a b\0", r"'a b\x00'"),
        ("\uff41 b", r"'\uff41 b'"),
        ("a b\ufe0f", r"'a b\ufe0f'"),
    ],
)
def test_texts_that_look_the_same_are_found(odd: str, shown: str, found: Callable[[Runs], list[Finding]]) -> None:
    (finding,) = found([*[{"image": "a b"}] * 6, {"image": odd}, {"image": "ab"}])
    assert finding.kind == "alike-values"
    assert finding.sentence.startswith(f"'image' is {shown} in 1, 'a b' in 6 runs: these are different settings")
    assert (finding.runs, finding.changes) == (["run 6"], frozenset(AnswerKind))
    assert found([{"image": image} for image in ("r", "R", "true", "a b", "\u0434\u0430", "\u03bcs")]) == []


def test_a_text_that_was_read_in_another_encoding_is_found(found: Callable[[Runs], list[Finding]]) -> None:
    (finding,) = found([*[{"image": "m\u00fcller"}] * 6, *[{"image": "m\u00c3\u00bcller"}] * 6])
    assert finding.sentence.startswith(
        r"'image' is 'm\u00fcller' in 6, 'm\xc3\xbcller' in 6 runs:".replace(r"\u00fc", "\u00fc")
    )
    assert found([{"image": image} for image in ("m\u00fcller", "m\u00c3ller", "\u20ac")]) == []


def test_numbers_that_differ_by_rounding_alone_are_found(found: Callable[[Runs], list[Finding]]) -> None:
    (finding,) = found([{"rate": rate} for rate in (0.1, 0.1 + 0.2, 0.3, 0.3, 0.7)])
    assert finding.sentence.startswith("'rate' is 0.30000000000000004 in 1, 0.3 in 2 runs: these are different")
    assert found([{"rate": rate} for rate in (0.1, 0.3, 0.300001, 3.0, 1.0)]) == []


def test_a_few_texts_that_differ_in_case_are_found(found: Callable[[Runs], list[Finding]]) -> None:
    (finding,) = found([*[{"vendor": "aws"}] * 6, {"vendor": "AWS"}])
    assert finding.sentence.startswith("'vendor' is 'AWS' in 1, 'aws' in 6 runs: these are different settings")
    assert finding.runs == ["run 6"]
    assert found([*[{"mode": "r"}] * 6, *[{"mode": "R"}] * 6]) == []
    assert [one.kind for one in found([*[{"mode": "bf16"}] * 6, *[{"mode": "BF16"}] * 6])] == ["alike-values"]


def test_words_that_differ_in_what_joins_their_parts_are_found(found: Callable[[Runs], list[Finding]]) -> None:
    (finding,) = found([*[{"engine": "onnx-int8"}] * 6, *[{"engine": "torch"}] * 6, *[{"engine": "onnx_int8"}] * 2])
    assert finding.sentence.startswith("'engine' is 'onnx_int8' in 2, 'onnx-int8' in 6 runs: these are different")
    for honest in (("2026-01", "2026_01"), ("1-2", "1_2"), ("onnx-int8", "onnxint8"), ("a-b", "a-c")):
        assert "alike-values" not in [one.kind for one in found([{"engine": value} for value in honest * 6])]


def test_of_three_texts_that_look_alike_the_commonest_is_meant(found: Callable[[Runs], list[Finding]]) -> None:
    (finding,) = found([*[{"image": "a b"}] * 6, *[{"image": "a  b"}] * 2, {"image": "a b "}])
    assert finding.sentence.startswith("'image' is 'a b ' in 1, 'a  b' in 2, 'a b' in 6 runs:")
    assert finding.runs == ["run 8", "run 6", "run 7"]


@pytest.mark.parametrize(("one", "other"), [("1.5", "v1.5"), ("1.0", "1.0.0"), ("1", "1.0"), ("V2.0-rc1", "2-rc1")])
def test_two_spellings_of_a_version_are_found(one: str, other: str, found: Callable[[Runs], list[Finding]]) -> None:
    (finding,) = found([{"version": version} for version in (one, one, other, other, "1.10", "1.1", "1.1")])
    assert finding.kind == "alike-values"
    assert finding.sentence.startswith(f"'version' is '{one}' in 2, '{other}' in 2 runs: these are different settings")


def test_texts_that_are_different_versions_are_not_alike(found: Callable[[Runs], list[Finding]]) -> None:
    assert found([*[{"version": "1.1"}] * 20, {"version": "1.10"}, {"version": "10.0.0.1"}, {"version": "10.1"}]) == []
    runs = [{"version": version} for version in (1.8, 1.9, 2.0, "2.0.1", "2.1", "2.10", "auto")]
    assert "alike-values" not in [one.kind for one in found(runs)]
    assert found([*({"workers": n} for n in range(20)), {"workers": "auto"}]) == []


def test_settings_of_half_the_runs_are_nothing_odd(found: Callable[[Runs], list[Finding]]) -> None:
    assert found([*GRID, *({**run, "tp": 2} for run in GRID)]) == []


def test_a_run_without_any_settings_is_found(found: Callable[[Runs], list[Finding]]) -> None:
    (finding,) = found([*GRID, {}])
    assert (finding.kind, finding.runs) == ("no-settings", ["run 8"])
    assert finding.changes


def test_a_text_among_numbers_is_found(found: Callable[[Runs], list[Finding]]) -> None:
    (finding,) = found([*GRID, {"batch_size": "eight", "vus": 8}])
    assert finding.kind == "odd-value"
    assert finding.sentence == "'batch_size' is 'eight' in 1 run, beside numbers in the others."
    assert finding.changes
    assert [one.kind for one in found([*GRID, {"batch_size": "no", "vus": 8}])] == ["odd-value"]


def test_of_many_texts_among_numbers_three_are_named(found: Callable[[Runs], list[Finding]]) -> None:
    (finding,) = found([{"n": n} for n in [*range(36), *"abc", "d\\e"]])
    assert finding.sentence == "'n' is 'a', 'b', 'c' in 4 runs, beside numbers in the others."
    assert "'n' is 'd\\e' in 1 run," in found([{"n": n} for n in [*range(36), "d\\e"]])[0].sentence


def test_a_number_below_0_among_others_is_found(found: Callable[[Runs], list[Finding]]) -> None:
    (finding,) = found([*GRID, {"batch_size": -8, "vus": 8}])
    assert finding.kind == "below-zero"
    assert finding.sentence == "1 run has 'batch_size' -8, and the others none below 0."
    assert found([*GRID, {"batch_size": -1, "vus": 8}]) == []
    assert found([{"celsius": n} for n in (-40, -20, 0, 20)]) == []


def test_a_number_among_texts_is_found(found: Callable[[Runs], list[Finding]]) -> None:
    (finding,) = found([*({"image": image} for image in "abcd"), {"image": 3}])
    assert finding.sentence == "'image' is 3 in 1 run, beside texts in the others."


def test_a_word_that_many_runs_have_beside_numbers_is_meant(found: Callable[[Runs], list[Finding]]) -> None:
    assert found([*GRID, *({**run, "batch_size": "auto"} for run in GRID)]) == []


@pytest.mark.parametrize(
    ("odd", "usual"),
    [("32", 32), (32.0, 32), ("true", True), ("yes", True), ("Off", False), ("True", True), ("null", None)],
)
def test_values_that_look_alike_and_differ_in_type_are_found(
    odd: Any, usual: Any, found: Callable[[Runs], list[Finding]]
) -> None:
    (finding,) = found([*[{"value": usual}] * 6, {"value": odd}])
    assert finding.kind == "alike-values"
    assert finding.runs == ["run 6"]
    assert finding.changes


def test_a_number_with_an_exponent_that_yaml_takes_for_a_text_is_found(found: Callable[[Runs], list[Finding]]) -> None:
    (finding,) = found([{"device_flops": "1e12"}] * 4)
    assert finding.sentence == (
        "4 runs have 'device_flops' '1e12', a text that looks like a number: YAML takes one only with a point and a "
        "sign (1.0e+12)."
    )
    assert finding.changes == frozenset()
    assert found([{"device_flops": flops} for flops in ("1234e12", "12345e67", "e12", "1e12b")]) == []


def test_a_version_that_a_spreadsheet_cut_is_asked_about_where_versions_are_next_to_the_other_one(
    found: Callable[[Runs], list[Finding]],
) -> None:
    (finding,) = found([{"version": version} for version in ("1.9", "1.10", "1.10", "1.1", "1.11")])
    assert finding.sentence.startswith("'version' is '1.1' in 1, '1.10' in 2 runs: these are different settings")
    assert finding.changes
    for honest in (["1.0", "1.1", "1.9", "1.10"], ["1.1", "1.2", "1.10", "1.11"], ["2.0", "2.1", "2.10"]):
        assert found([{"version": version} for version in honest * 3]) == []


@pytest.mark.parametrize(
    ("runs", "is_asked"),
    [
        ([("1.1", 1), ("1.5", 2), ("1.9", 3), ("1.10", 4)], False),
        ([("1.1", None), ("1.5", None), ("1.9", None), ("1.10", None)], False),  # as often as the others
        ([("1.1", 1), ("1.1", 2), ("1.5", 3), ("1.9", 4), ("1.10", 5)], False),  # older ones, though twice as often
        ([("1.5", 2), ("1.9", 3), ("1.10", 4), ("1.1", 5)], True),  # measured when 1.10 was
        ([("1.5", 2), ("1.9", 3), ("1.9", 3), ("1.10", 4), ("1.1", 4), ("1.11", 5), ("1.11", 5)], True),
        ([("1.5", None), ("1.5", None), ("1.9", None), ("1.9", None), ("1.10", None), ("1.1", None)], True),  # a half
    ],
)
def test_a_version_is_no_cut_one_where_its_time_or_its_runs_say_otherwise(
    runs: Sequence[tuple[str, int | None]], is_asked: bool
) -> None:
    entries = [
        Entry({"version": version, "size": size}, 0, Path("/r"), f"run {number} {size}", 0, span_us=(None, time))
        for number, (version, time) in enumerate(runs)
        for size in (1, 2)
    ]
    assert ["alike-values"] * is_asked == [one.kind for one in findings(Matrix(entries))]


def test_a_commit_that_is_the_beginning_of_another_is_asked_about(found: Callable[[Runs], list[Finding]]) -> None:
    whole = "4f2c1d9e0a7b6c5d4e3f2a1b0c9d8e7f6a5b4c3d"
    (finding,) = found([{"commit": commit} for commit in (whole, whole[:8], "5a0b1c2", "4f2c1d8")])
    assert finding.sentence == "'commit' is '4f2c1d9e', with which a longer one begins: is it one commit?"
    assert (finding.runs, finding.changes) == (["run 1"], frozenset(AnswerKind))
    honest = (("1234567", "12345678"), ("feedbac", "feedback"), ("4f2c1d", whole), ("v4f2c1d9", whole))
    assert all("short-hash" not in [one.kind for one in found([{"commit": each} for each in of])] for of in honest)


def test_a_number_with_its_unit_is_one_with_a_blank_between_or_without(
    found: Callable[[Runs], list[Finding]],
) -> None:
    (finding,) = found([{"memory": memory} for memory in ("8GB", "8 GB", "16GB", "1.5 GB")])
    assert finding.sentence.startswith("'memory' is '8GB' in 1, '8 GB' in 1 runs: these are different settings")


def test_true_and_one_look_alike(found: Callable[[Runs], list[Finding]]) -> None:
    (finding,) = found([{"cache": value} for value in (True, True, True, 1, 1, 0)])
    assert finding.sentence.startswith("'cache' is 1 in 2, true in 3 runs: these are different settings")
    assert found([{"speculative": value} for value in (False, 2, 4) * 3]) == []


def test_merged_cells_are_asked_about() -> None:
    def said(*rows: dict[str, Any]) -> list[str]:
        runs = [Entry(row, 0, Path("/r"), f"t.csv#row {n}", 0, part=f"row {n}") for n, row in enumerate(rows, start=2)]
        return [one.sentence for one in findings(Matrix(runs)) if one.kind == "merged-cells"]

    merged: Runs = [{"engine": "onnx", "batch": 1}, {"batch": 2}, {"engine": "torch", "batch": 1}, {"batch": 2}]
    assert said(*merged, {"batch": 4}) == [
        "2 rows have a 'engine' each, and the 3 below them none: were cells merged? Write the value into each."
    ]
    assert said(*merged[:2]) == said(*merged[:3]) == said(*merged[:2], *merged[:2]) == said(*merged[1:]) == []
    levels: Runs = [{"engine": "onnx", "level": 1}, {"engine": "torch"}, {"engine": "onnx", "level": 2}]
    assert said(*levels, {"engine": "torch"}) == []  # which has no levels


@pytest.mark.parametrize("spoilt", ["1.23457E+11", "02. Jan", "Oct-10", "1-Mar"])
def test_what_a_spreadsheet_made_of_a_setting_is_asked_about(
    found: Callable[[Runs], list[Finding]], spoilt: str
) -> None:
    (finding,) = found([{"build": build} for build in ("a-1", spoilt, "b-2", spoilt)])
    assert finding.sentence.startswith(f"2 runs have 'build' '{spoilt}', as spreadsheets write what they take for")
    assert finding.changes
    assert found([{"day": day} for day in ("01-Jan", "02-Jan", "03-Jan")]) == []  # all are: it is a day
