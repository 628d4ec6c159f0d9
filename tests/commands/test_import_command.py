"""``matbench import``: a table becomes a workload file that every other command takes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from matrix_benchmarking import workload
from matrix_benchmarking.cli import main
from matrix_benchmarking.store import parse_tree

Capture = pytest.CaptureFixture[str]
IMPORT = ["import", "runs.csv", "--settings=image,version", "--kpi=rate:higher:req/s", "--kpi=p95.ms:lower:ms"]
READ = ["--workload=runs_workload.py", "--results-dirname=."]


@pytest.fixture(autouse=True)
def table(directory: Path) -> Path:
    path = directory / "runs.csv"
    rows = [f"{image},1.{version}.0,{100 + version % 3},{5.5 + version % 2}" for image in "ab" for version in range(8)]
    rows += ["b,1.8.0,50,12", "b,1.9.0,51,12.5", "b,1.10.0,50,12", "a,1.10.0,101,5.5"]
    path.write_text("\n".join(["image,version,rate,p95.ms", *rows, ""]))
    return path


def test_a_second_table_whose_column_was_renamed_is_a_file_that_cannot_take_part(table: Path, capsys: Capture) -> None:
    assert main(IMPORT) == 0
    (table.parent / "second").mkdir()
    (table.parent / "second" / "runs.csv").write_text(table.read_text().replace("image", "img", 1))
    assert main(["parse", *READ]) == 0
    assert "1 file can't take part (1 × a file can't be read)" in " ".join(capsys.readouterr().out.split())
    assert main(["check", *READ]) == 1
    assert "* 1 file can't be placed and takes no part: row 2 has no column 'image'" in capsys.readouterr().out


@pytest.mark.parametrize("above", [[], ["# of Monday"]])
def test_of_objects_a_line_all_columns_are_known_whichever_row_says_them_first(
    directory: Path, capsys: Capture, above: list[str]
) -> None:
    lines = [*above, '{"n": 1, "ms": 3}', '{"n": 1, "ms": 9, "engine": "b"}', '{"ms": 4, "n": 2, "more": 7}']
    (directory / "lines.ndjson").write_text("\n".join(lines))
    assert main(["import", "lines.ndjson", "--settings=n", "--kpi=ms:lower:ms", "--output=one.py"]) == 0
    assert "left out, since no option names them: engine, more" in capsys.readouterr().err
    assert main(["import", "lines.ndjson", "--settings=n,engine", "--kpi=ms:lower:ms", "--output=other.py"]) == 0
    said = capsys.readouterr().err
    assert "left out, since no option names them: more" in said and "engine is empty in 2 of 3 rows" in said
    assert main(["parse", "--workload=other.py", "--results-dirname=."]) == 0
    assert "Lowest ms: n 1 · engine not set: 3 ms" in " ".join(capsys.readouterr().out.split())


def test_a_repeat_that_some_rows_leave_out_makes_no_point_and_a_long_cell_is_cut(
    directory: Path, capsys: Capture
) -> None:
    lines = ['{"n": 1, "repeat": 0, "ms": 3}', json.dumps({"n": 1, "ms": [1] * 999}), '{"n": 1, "ms": 4}']
    (directory / "lines.ndjson").write_text("\n".join(lines))
    assert main(["import", "lines.ndjson", "--settings=n,repeat", "--kpi=ms:lower:ms"]) == 0
    [warning, _] = capsys.readouterr().err.splitlines()
    assert warning.startswith("warning: ms: unknown in 1 of 3 rows, where it is no number: row 2 has '[1, 1, ")
    assert len(warning) < 200


def test_the_next_commands_work_as_printed(capsys: Capture) -> None:
    assert main(IMPORT) == 0
    assert capsys.readouterr().out.splitlines() == [
        *(f"matbench {name} {' '.join(READ)}" for name in ("parse", "visualize", "upload_lts")),
        f"matbench analyze_lts {READ[0]}",
    ]
    assert main(["parse", *READ]) == 0
    assert "rate (req/s)" in capsys.readouterr().out
    assert main(["upload_lts", *READ]) == 0
    assert "20 runs added" in capsys.readouterr().out
    assert main(["analyze_lts", READ[0]]) == 1
    assert "1.8.0" in capsys.readouterr().out


def test_rows_that_are_added_are_read_and_the_others_stay_the_same_runs(table: Path, capsys: Capture) -> None:
    assert main(IMPORT) == 0
    assert main(["upload_lts", *READ]) == 0
    with table.open("a") as stream:
        stream.write("c,1.10.0,1,1\n")
    capsys.readouterr()
    assert main(["upload_lts", *READ]) == 0
    assert "1 run added, 20 there already" in capsys.readouterr().out


def test_a_name_that_tables_of_many_projects_have_is_said(table: Path, capsys: Capture) -> None:
    table.rename("encoders.csv")
    assert main(["import", "encoders.csv", *IMPORT[2:]]) == 0
    assert "the workload" not in capsys.readouterr().err
    Path("encoders.csv").rename("Results.csv")
    assert main(["import", "Results.csv", *IMPORT[2:]]) == 0
    said = "its runs are those of the workload 'Results': in a history with another project's, change `name`"
    assert said in capsys.readouterr().err
    assert "name='Results'" in Path("Results_workload.py").read_text()


def test_a_setting_that_may_be_the_version_is_said_where_none_is(table: Path, capsys: Capture) -> None:
    assert main(IMPORT) == 0
    assert "--versions" not in capsys.readouterr().err
    table.write_text(table.read_text().replace("version", "Build", 1))
    options = ["import", "runs.csv", "--settings=image,Build", "--kpi=rate:higher:req/s"]
    assert main([*options, "--output=other.py"]) == 0
    said = "no setting orders a history, so each Build is a series of its own: --versions=Build makes it one"
    assert said in capsys.readouterr().err
    assert main([*options, "--output=third.py", "--versions=Build"]) == 0
    assert "series" not in capsys.readouterr().err


@pytest.mark.parametrize("name", ["Version", "COMMIT"])
def test_a_version_is_one_whatever_its_case(table: Path, capsys: Capture, name: str) -> None:
    table.write_text(table.read_text().replace("version", name, 1))
    options = ["import", "runs.csv", f"--settings=image,{name}", *IMPORT[3:]]
    assert main(options) == 0
    assert f"{name} is taken for the version that orders a history: --versions names another" in capsys.readouterr().err
    assert workload.load("runs_workload.py").regression.comparison_keys == [name]
    assert main([*options, f"--versions={name}", "--output=other.py"]) == 0
    assert "is taken" not in capsys.readouterr().err


def test_what_is_in_no_run_is_said(table: Path, capsys: Capture) -> None:
    table.write_text("image,day,rate,p95.ms,version\na,1,100,5,1.0\na,2,,6,1.0\na,3,fast,nan,1.1\n")
    assert main(["import", "runs.csv", "--settings=image", *IMPORT[3:]]) == 0
    said = capsys.readouterr()
    assert "analyze_lts" not in said.out  # no version is among the settings
    assert said.err.splitlines()[:3] == [
        "warning: left out, since no option names them: day, version",
        "warning: rate: unknown in 2 of 3 rows, where it is no number: row 3 is empty",
        "warning: p95.ms: unknown in 1 of 3 rows, where it is no number: row 4 has 'nan'",
    ]


def test_runs_of_another_workload_beside_a_table_are_none_of_its(table: Path, capsys: Capture) -> None:
    (run := table.parent / "results" / "first").mkdir(parents=True)
    for name in ("settings.yaml", "exit_code", ".matbench_cache"):
        (run / name).write_text("0")
    assert main(IMPORT) == 0
    assert main(["upload_lts", *READ, "--history=sqlite:///kept.db"]) == 0
    assert main(["check", *READ]) == 0
    assert "first" not in capsys.readouterr().err


def test_a_column_of_times_that_is_left_out_is_said(table: Path, capsys: Capture) -> None:
    table.write_text("image,at,day,rate\na,2026-01-31,2026-01-31T10:00:00Z,5\na,later,2026-02-01 10:00,6\n")
    options = ["import", "runs.csv", "--settings=image", "--kpi=rate:higher"]
    assert main(options) == 0
    said = capsys.readouterr().err
    assert "day holds times: --time=day says when each run was" in said and "at holds" not in said
    assert main([*options, "--time=day", "--output=other.py"]) == 0
    assert "holds times" not in capsys.readouterr().err


def test_two_kpis_of_one_name_are_refused_and_failed_rows_are_counted(table: Path, capsys: Capture) -> None:
    table.write_text("image,p95.ms,p95_ms,exit_code\na,10,900,0\nb,20,100,137\n")
    options = ["import", "runs.csv", "--settings=image", "--kpi=p95.ms:lower:ms"]
    assert main([*options, "--kpi=p95_ms:lower:ms"]) == 2
    assert "'p95.ms' and 'p95_ms' would have one name, 'p95_ms': rename a column" in capsys.readouterr().err
    assert main(options) == 0
    assert "exit_code: 1 of 2 rows say that their run failed, and take no part" in capsys.readouterr().err
    Path("runs_workload.py").unlink()
    table.write_text("image,p95.ms,exit_code\na,10,FALSE\nb,20,0\n")
    assert main(options) == 0
    assert "TRUE or FALSE as exit_code is taken for success: write 0" in capsys.readouterr().err


def test_a_status_counts_by_its_first_word_and_one_that_nobody_knows_is_said(table: Path, capsys: Capture) -> None:
    rows = ["failed (OOM)", "Fehlgeschlagen", "skipped", "error: none", "error-free", "ok", "Finished in 3 s"]
    table.write_text("image,rate,status\n" + "".join(f"a,10,{status}\n" for status in rows))
    assert main(["import", "runs.csv", "--settings=image", "--kpi=rate:higher"]) == 0
    said = capsys.readouterr().err
    assert "status: 2 of 7 rows say that their run failed, and take no part" in said
    unknown = "'skipped' in 1, 'error: none' in 1, 'error-free' in 1 of 7 rows, taken for a success"
    assert f"status: {unknown}: write failed, or finished, as" in said
    matrix = parse_tree(workload.load("runs_workload.py"), Path.cwd())
    assert [entry.failed for entry in matrix] == [True, True, *[False] * 5]


@pytest.mark.parametrize("column", ["success", "Return Code", "exit-code", "error"])
def test_a_column_that_may_say_what_failed_is_asked_about(table: Path, capsys: Capture, column: str) -> None:
    table.write_text(f"image,rate,{column}\na,10,1\n")
    options = ["import", "runs.csv", "--settings=image", "--kpi=rate:higher"]
    assert main(options) == 0
    said = f"{column} may say which runs failed, and isn't read: call it exit_code, 0 where a run succeeded"
    assert said in capsys.readouterr().err
    Path("runs_workload.py").unlink()
    table.write_text(f"image,rate,{column},status\na,10,1,ok\n")
    assert main(options) == 0
    assert "may say" not in capsys.readouterr().err


def test_values_below_zero_where_lower_is_better_are_said(table: Path, capsys: Capture) -> None:
    table.write_text("image,p95,gain\na,-3,-1\nb,20,2\n")
    assert main(["import", "runs.csv", "--settings=image", "--kpi=p95:lower:ms", "--kpi=gain:higher"]) == 0
    assert "p95: below 0 in 1 of 2 rows, where lower is better: row 2 has -3" in (said := capsys.readouterr().err)
    assert "gain: below" not in said


def test_a_direction_that_is_rare_for_its_unit_is_asked_about(table: Path, capsys: Capture) -> None:
    table.write_text("image,p95,rate\na,3,10\nb,20,2\n")
    kpis = ["--kpi=p95:higher:ms", "--kpi=rate:lower:req/s"]
    assert main(["import", "runs.csv", "--settings=image", *kpis]) == 0
    said = capsys.readouterr().err
    assert "p95: in ms, higher is seldom better: is it meant?" in said
    assert "rate: in req/s, lower is seldom better: is it meant?" in said
    Path("runs_workload.py").unlink()
    assert main(["import", "runs.csv", "--settings=image", "--kpi=p95:lower:ms", "--kpi=rate:lower:errors/s"]) == 0
    assert "seldom" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("column", "unit", "said"),
    [
        ("p95 (s)", "ms", "s"),
        ("latency_ms", "s", "ms"),
        ("duration.s", "h", "s"),
        ("tput [req/min]", "req/s", "req/min"),
        ("tokens_per_min", "tokens/s", "tokens_per_min"),
        ("bandwidth MB/s", "GB/s", "MB/s"),
        ("p95 [μs]", "us", ""),
        ("tput [requests/second]", "req/s", ""),
        ("tokens_per_s", "tokens/s", ""),
        ("time_min", "s", ""),  # the least
        ("latency (mean)", "ms", ""),
        ("latency_ms", "", ""),
        ("bandwidth_gb_s", "GB/s", ""),
        ("plan b", "ms", ""),
    ],
)
def test_a_unit_in_a_name_that_is_not_the_kpis_is_asked_about(
    table: Path, capsys: Capture, column: str, unit: str, said: str
) -> None:
    table.write_text(f"image,{column}\na,3\n")
    assert main(["import", "runs.csv", "--settings=image", f"--kpi={column}:neither:{unit}"]) == 0
    doubt = f"{column}: its name says {said}, and --kpi {unit}, in which its numbers are shown: which is it?"
    assert (doubt in (found := capsys.readouterr().err)) == bool(said)
    assert ("its name says" in found) == bool(said)


def test_a_table_with_a_row_for_each_kpi_is_refused(table: Path, capsys: Capture) -> None:
    table.write_text("image,Metric,value\na,p95_ms,900\na,rate,95\nb,p95_ms,800\n")
    options = ["import", "runs.csv", "--settings=image,Metric", "--kpi=value:lower"]
    assert main(options) == 2
    said = (
        "'Metric' says of which KPI each number in 'value' is (p95_ms, rate), and these can't be ranked together: pivot"
    )
    assert said in capsys.readouterr().err
    assert main([*options[:2], "--settings=image", options[3]]) == 2
    table.write_text("image,Metric,value\na,p95_ms,900\na,p95_ms,950\nb,p95_ms,800\n")
    assert main(options) == 0
    table.write_text("image,measurement,value\na,1,900\na,2,950\nb,1,800\n")
    assert main(["import", "runs.csv", "--settings=image", options[3], "--output=other.py"]) == 0


@pytest.mark.parametrize(
    ("content", "name", "kpi"),
    [
        ("image,name,result\na,p95_ms,900\na,rate,95\n", "name", "result"),
        ("metric,a,b\nrate,10,11\nlatency,20,21\n", "metric", "a"),  # a column for each image
        ("host,_field,_value\na,used,900\na,free,95\n", "_field", "_value"),  # as InfluxDB writes it
    ],
)
def test_a_table_whose_cells_name_kpis_is_refused(
    table: Path, capsys: Capture, content: str, name: str, kpi: str
) -> None:
    table.write_text(content)
    assert main(["import", "runs.csv", f"--settings={content.partition(',')[0]}", f"--kpi={kpi}:lower"]) == 2
    assert f"'{name}' says of which KPI each number in '{kpi}' is" in capsys.readouterr().err
    table.write_text("metric,name,recall\ncosine,a,0.5\nl2,b,0.6\n")
    assert main(["import", "runs.csv", "--settings=metric,name", "--kpi=recall:higher"]) == 0


@pytest.mark.parametrize(
    ("column", "values", "is_asked"),
    [
        ("pooling", "mean max", True),
        ("mode", "real-time low-memory batch eager", False),
        ("note", "max_load out_of_time , ,", False),
    ],
)
def test_settings_and_remarks_may_be_called_as_kpis_are(
    table: Path, capsys: Capture, column: str, values: str, is_asked: bool
) -> None:
    rows = "".join(f"{at},{value.strip(',')},{at}\n" for at, value in enumerate(values.split()))
    table.write_text(f"image,{column},score\n{rows}")
    settings = f"image,{column}" if column == "pooling" else "image"
    assert main(["import", "runs.csv", f"--settings={settings}", "--kpi=score:higher"]) == 0
    assert ("pooling: if it says of which KPI each number" in capsys.readouterr().err) is is_asked


@pytest.mark.parametrize("rates", ["1.200 1.300 1.200,5", "1.200.000 1.300.000 900.000", "1.200.000 1.250"])
def test_points_that_part_thousands_and_may_be_decimal_ones_beside_are_not_both(table: Path, rates: str) -> None:
    rows = "".join(f'{at},"{rate}"\n' for at, rate in enumerate(rates.split()))
    table.write_text(f"image,rate\n{rows}")
    assert main(["import", "runs.csv", "--settings=image", "--kpi=rate:higher"]) == 0
    assert "thousands" not in table.with_name("runs_workload.py").read_text()


def test_of_many_columns_some_are_named_and_those_that_may_be_runs_are_asked_about(
    table: Path, capsys: Capture
) -> None:
    names = [f"run_{number}" for number in range(200)]
    table.write_text(f"image,{','.join(names)}\na{',1' * 200}\n")
    assert main(["import", "runs.csv"]) == 2
    assert f"has image, {', '.join(names[:19])} and 181 more\n" in capsys.readouterr().err
    assert main(["import", "runs.csv", "--settings=image", "--kpi=run_0:lower"]) == 0
    assert f"{', '.join(names[1:21])} and 179 more\n" in (found := capsys.readouterr().err)
    assert "run_0 is read without run_1, run_2, run_3 and 196 more: if each is a run, give each a row" in found
    table.write_text("image,p95_ms,p99_ms\na,1,2\n")
    assert main(["import", "runs.csv", "--settings=image", "--kpi=p95_ms:lower", "--output=other.py"]) == 0
    assert "is read without" not in capsys.readouterr().err


def test_a_column_of_several_units_is_refused(table: Path, capsys: Capture) -> None:
    table.write_text("image,latency,unit\na,12,ms\nb,0.013,s\n")
    assert main(["import", "runs.csv", "--settings=image", "--kpi=latency:lower:ms"]) == 2
    said = "'unit' says in which unit each number in 'latency' is (ms, s): write all numbers of a column in one unit"
    assert said in capsys.readouterr().err
    table.write_text("image,latency,unit\na,12,ms\nb,13,ms\n")
    assert main(["import", "runs.csv", "--settings=image", "--kpi=latency:lower:ms"]) == 0


def test_rows_whose_time_is_none_are_counted_before_they_are_missed(table: Path, capsys: Capture) -> None:
    table.write_text("image,at,rate\na,2026-01-02,10\na,yesterday,11\nb,,20\nb,2026-13-02,21\n")
    assert main(["import", "runs.csv", "--settings=image", "--kpi=rate:higher", "--time=at"]) == 0
    said = "2 of 4 rows can't be read: row 3 has 'yesterday' where an ISO 8601 time is expected"
    assert said in capsys.readouterr().err


def test_a_kpi_may_be_called_as_a_method_of_models_and_begin_with_an_underscore(table: Path, capsys: Capture) -> None:
    table.write_text("image,json,_value,__dict__\na,1,10,1\nb,2,20,1\n")
    assert main(["import", "runs.csv", "--settings=image", "--kpi=_value:lower", "--kpi=json:lower"]) == 0
    assert main(["check", *READ]) == 0
    assert main(["upload_lts", *READ]) == 0
    assert "2 runs added" in (said := capsys.readouterr()).out
    assert "shadows" not in said.err
    assert main(["import", "runs.csv", "--settings=image", "--kpi=__dict__:lower", "--output=other.py"]) == 2
    assert "the KPI '__dict__' would be lost" in capsys.readouterr().err


def test_settings_that_are_empty_as_of_merged_cells_are_counted(table: Path, capsys: Capture) -> None:
    table.write_text("image,batch,rate\na,1,10\n,8,11\nb,1,20\n,8,21\n")
    assert main(["import", "runs.csv", "--settings=image,batch", "--kpi=rate:higher"]) == 0
    assert "image is empty in 2 of 4 rows, which are points of their own" in capsys.readouterr().err


def test_words_that_are_taken_for_an_empty_setting_are_said(table: Path, capsys: Capture) -> None:
    table.write_text("image,region,rate\na,EU,10\na,NA,8\na,-,11\na,,9\n")
    assert main(["import", "runs.csv", "--settings=image,region", "--kpi=rate:higher"]) == 0
    said = "region: 'NA' and '-' in 2 of 4 rows are taken for not set, like an empty cell: write another word"
    assert said in (found := capsys.readouterr().err)
    assert "image: " not in found


def test_a_setting_with_marks_between_thousands_is_a_text_and_said(table: Path, capsys: Capture) -> None:
    table.write_text("image,version,rate,p95.ms\n" + "".join(f"1'{n}00,1.{n},{n},{n}\n" for n in range(3)))
    assert main(IMPORT) == 0
    assert "image: '1'000' stays a text: of a setting no marks part thousands" in capsys.readouterr().err


def test_a_number_that_is_written_in_two_ways_is_two_settings(directory: Path, capsys: Capture) -> None:
    Path("p.csv").write_text("python,batch,rate\n3.9,1.0,5\n3.1,1.0,7\n3.10,1.0,9\n")
    assert main(["import", "p.csv", "--settings=python,batch", "--kpi=rate:higher"]) == 0
    assert "python: 3.1 and 3.10 are one number, and stay apart as they are written" in capsys.readouterr().err
    Path("tree").mkdir()
    Path("p.csv").rename("tree/p.csv")
    assert main(["parse", "--workload=p_workload.py", "--results-dirname=tree"]) == 0
    assert "Highest rate: python 3.10: 9 " in " ".join(capsys.readouterr().out.split())


def test_what_only_looks_like_a_number_stays_as_it_is_written(directory: Path, capsys: Capture) -> None:
    Path("p.csv").write_text("python,sha,delay,rate\n3.9,1234e56,1.00,5\n3.10,77,1.25,9\n3.11,78,1.50,7\n")
    assert main(["import", "p.csv", "--settings=python,sha,delay", "--kpi=rate:higher"]) == 0
    said = capsys.readouterr().err
    like = "and stays as it is written, like all cells of this column"
    assert f"python: 3.10 isn't 3.1, {like}" in said
    assert f"sha: 1234e56 isn't 1.234e+59, {like}" in said
    assert "delay" not in said
    assert "texts=['python', 'sha']" in Path("p_workload.py").read_text()


def test_a_workload_file_that_is_there_is_never_overwritten(capsys: Capture) -> None:
    Path("runs_workload.py").write_text("# mine\n")
    assert main(IMPORT) == 2
    assert "is there already" in capsys.readouterr().err
    assert Path("runs_workload.py").read_text() == "# mine\n"


def test_names_of_columns_may_have_what_separates_names_in_options(directory: Path, capsys: Capture) -> None:
    (directory / "odd.csv").write_text('"a,b",latency:p95,up:lower\nx,2,3\ny,1,4\n')
    assert main(["import", "odd.csv", "--settings=a,b", "--kpi=latency:p95:lower:ms"]) == 2
    assert capsys.readouterr().err.endswith("a comma in a name is written '\\,'\n")
    assert main(["import", "odd.csv", "--settings=a\\,b", "--kpi=latency:p95:lower:ms", "--output=w.py"]) == 0
    assert "left out, since no option names them: up:lower" in capsys.readouterr().err
    assert main(["parse", "--workload=w.py", "--results-dirname=.", "--output-matrix=m.json"]) == 0
    assert "latency:p95 (ms)" in capsys.readouterr().out


def test_names_of_columns_and_files_are_never_code(directory: Path) -> None:
    name = '"""\nimport os; os.mkdir("ran")\n"""{x}.csv'
    column = '"+__import__("os").mkdir("ran")+"'
    doubled = column.replace('"', '""')
    (directory / name).write_text(f'"{doubled}",k\'\n1,2\n')
    assert main(["import", name, f"--settings={column}", "--kpi=k':neither:{unit}\"\\", "--output=w.py"]) == 0
    assert main(["parse", "--workload=w.py", "--results-dirname=."]) == 0
    assert not (directory / "ran").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--settings=image"], "say which columns are --settings and which is a --kpi; 'runs.csv' has image, version"),
        (["--settings=imag", "--kpi=rate:higher"], "has no column 'imag': did you mean 'image'?"),
        (["--settings=image", "--kpi=rate:up"], "'rate:up' is not COLUMN:higher, :lower or :neither with :UNIT"),
        (["--settings=image", "--kpi=start:lower:s"], "the KPI 'start' would be lost, since runs have such a field"),
        (
            ["--settings=version", "--kpi=rate:higher", "--time=image"],
            "no row can be read: row 2 has 'a' where an ISO 8601 time is expected",
        ),
        (["--settings=image,rate", "--kpi=rate:higher"], "the column 'rate' can be a setting, a KPI or the time"),
        (
            ["--settings=image", "--kpi=rate:higher", "--versions=version"],
            "--versions=version is none of the --settings",
        ),
    ],
)
def test_what_is_not_in_the_table_is_a_sentence(
    table: Path, capsys: Capture, arguments: list[str], sentence: str
) -> None:
    table.write_text(table.read_text().replace("p95.ms", "start", 1))
    assert main(["import", "runs.csv", *arguments]) == 2
    assert sentence in capsys.readouterr().err
    assert not Path("runs_workload.py").exists()


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("none.csv", None, "'none.csv' is no file"),
        ("runs.xlsx", "PK", "save it as CSV"),
        ("empty.csv", "", "holds no row"),
        ("short.csv", "a,b\n1\n", "holds no row that can be read: row 2 has not as many cells as the first row"),
        ("array.csv", '[{"a": 1, "b": 2}]', "is a JSON array: save it as CSV in UTF-8, or as one object a line"),
        ("lines.csv", '[\n  {"a": 1,\n "b": 2}\n]', "is a JSON array: save it as CSV in UTF-8"),
        ("wide.csv", b"\xff\xfea\0,\0b\0", "is no text in UTF-8: save it as CSV in UTF-8"),
        ("t.parquet", b"PAR1\x15\x04\x15\xb0PAR1", "is no text in UTF-8: save it as CSV in UTF-8"),
        ("odd.csv", "a,a\n1,2\n", "its first row has the name 'a' twice"),
    ],
)
def test_what_is_no_table_is_a_sentence(capsys: Capture, name: str, content: str | bytes | None, sentence: str) -> None:
    if content is not None:
        Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
    assert main(["import", name, "--settings=a", "--kpi=b:lower"]) == 2
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        ("'1,234.5' '998.2'", "1234.5 998.2"),
        ("'1,027' 971", "1027 971"),  # below 1000 there is no comma
        ("'1,234,567' '2,000,000'", "1234567 2000000"),
        ("'12 ms' '13.5ms' '1,200 ms' 0", "12 13.5 1200 0"),
        (".5 -.5 5.", "0.5 -0.5 5"),
        ("'1 200' '1\u00a0234\u00a0567,5' '-2\u202f000.25' 1500", "1200 1234567.5 -2000.25 1500"),
        ("'1’200' '1\u2009300 ms' '1 400 ms'", "1200 1300 1400"),
        ("'1.234,5' '2.345.678' 12", "1234.5 2345678 12"),
        ("'1\u202f234.5' 12", "1234.5 12"),
    ],
)
def test_marks_between_thousands_and_units_in_cells_are_no_part_of_numbers(
    directory: Path, capsys: Capture, cells: str, values: str
) -> None:
    texts = [text or bare for text, bare in re.findall(r"'([^']*)'|(\S+)", cells)]
    rows = [f'i{place},"{text}"' for place, text in enumerate(texts)]
    Path("p.csv").write_text("\n".join(["image,lat", *rows, ""]))
    assert main(["import", "p.csv", "--settings=image", "--kpi=lat:lower:ms"]) == 0
    thousands = "lat: the marks in its numbers were taken to part thousands"
    assert (thousands in capsys.readouterr().err) is (re.search(r"\d[^\d.]\d{3}|\.\d{3}\.", cells) is not None)
    read = parse_tree(workload.load("p_workload.py"), Path())
    assert [entry.kpis["lat"] for entry in read] == [*map(float, values.split())]


@pytest.mark.parametrize(
    ("cells", "is_one"),
    [
        (["50 %", "51%", "0.60"], False),
        (["12 %", "13 %", "0.9"], False),
        (["50 %", "51%", "60", "0"], True),
        (["5", "0.06 %"], False),
    ],
)
def test_numbers_with_a_unit_and_without_are_of_one_where_they_are_near(
    cells: list[str], is_one: bool, directory: Path, capsys: Capture
) -> None:
    Path("p.csv").write_text("\n".join(["image,hit", *(f"x,{cell}" for cell in cells), ""]))
    assert main(["import", "p.csv", "--settings=image", "--kpi=hit:higher:%"]) == (0 if is_one else 2)
    assert ("is that one unit? Write all its numbers in one way" in capsys.readouterr().err) is not is_one


def test_a_second_table_says_nothing_of_the_units_of_the_first(directory: Path, capsys: Capture) -> None:
    Path("p.csv").write_text('image,lat\nx,12 ms\ny,"1,014 ms"\n\nimage,rate\nx,900 req/s\n')
    assert main(["import", "p.csv", "--settings=image", "--kpi=lat:lower:ms"]) == 0
    assert [entry.kpis["lat"] for entry in parse_tree(workload.load("p_workload.py"), Path())] == [12.0, 1014.0]


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        (["12 s", "13 s"], "holds no number, but '12 s'; --kpi=lat:lower:s reads numbers in that unit"),
        (["12 ms", "1 s"], "holds no number, but '12 ms', and there are ms and s: write all in one unit"),
        (["1,234", "2,345"], "holds no number, but '1,234'\n"),  # it may be a decimal mark
        (["1,234", "1500"], "lat: unknown in 1 of 2 rows, where it is no number: row 2 has '1,234'"),
        (["1 234", "1,500"], "holds no number, but '1 234', and its numbers are written in several ways: write all in"),
        (["1 23", "1'2345", "12"], "lat: unknown in 2 of 3 rows, where it is no number: row 2 has '1 23'"),
        (["1.234,5", "1.234"], "lat: unknown in 1 of 2 rows, where it is no number: row 2 has '1.234,5'"),
        (["0,5", "12"], "lat: unknown in 1 of 2 rows, where it is no number: row 2 has '0,5'"),
        (["timeout", "n/a"], "holds no number, but 'timeout'"),
        (["", "3"], "lat: unknown in 1 of 2 rows, where it is no number: row 2 is empty"),
    ],
)
def test_cells_that_are_no_sure_numbers_are_said(
    directory: Path, capsys: Capture, cells: list[str], sentence: str
) -> None:
    rows = [f'i{place},"{cell}"' for place, cell in enumerate(cells)]
    Path("p.csv").write_text("\n".join(["image,lat", *rows, ""]))
    assert main(["import", "p.csv", "--settings=image", "--kpi=lat:lower:ms"]) == (2 if "holds" in sentence else 0)
    assert sentence in capsys.readouterr().err
    assert Path("p_workload.py").exists() is ("holds" not in sentence)


def parsed(capsys: Capture) -> str:
    Path("tree").mkdir()
    Path("p.csv").rename("tree/p.csv")
    assert main(["parse", "--workload=p_workload.py", "--results-dirname=tree"]) == 0
    return " ".join(capsys.readouterr().out.split())


def test_runs_that_a_tracker_of_experiments_calls_failed_take_no_part(directory: Path, capsys: Capture) -> None:
    Path("p.csv").write_text("Name,State,batch,loss\na,finished,1,0.5\nb,crashed,1,0.1\nc,preempting,1,0.2\nd,,1,0.6\n")
    assert main(["import", "p.csv", "--settings=batch", "--kpi=loss:lower"]) == 0
    said = capsys.readouterr().err
    assert "State: 2 of 4 rows say that their run failed, and take no part" in said
    assert "left out, since no option names them: Name\n" in said
    assert "0.55 (2 runs" in parsed(capsys)


@pytest.mark.parametrize(
    "below", ["Mean,8,11.5\nStd Dev,8,1.29\nCV,8,0.112", "Mean,,11.5\nVariance,,1.7\nn,,4", "Geomean,,11.4"]
)
def test_rows_of_statistics_below_a_table_are_no_configurations(below: str, directory: Path, capsys: Capture) -> None:
    Path("p.csv").write_text(f"image,vus,p95\na,8,12\na,8,13\nb,8,11\nb,8,10\n{below}\n")
    assert main(["import", "p.csv", "--settings=image,vus", "--kpi=p95:lower:ms"]) == 0
    said = parsed(capsys)
    assert "Lowest p95: b · vus 8: 10.5 ms" in said or "Lowest p95: b: 10.5 ms" in said


def test_functions_that_are_called_as_statistics_are_runs(directory: Path, capsys: Capture) -> None:
    Path("p.csv").write_text("name,time\nadd,10\nmul,20\nmean,17\nstd,25\nvar,240\n")
    assert main(["import", "p.csv", "--settings=name", "--kpi=time:lower"]) == 0
    assert "taken for no run" not in capsys.readouterr().err
    assert "Lowest time: add: 10" in parsed(capsys)


def test_what_is_called_as_a_statistic_is_a_run_where_none_is_above(directory: Path, capsys: Capture) -> None:
    Path("p.csv").write_text("name,rate\na,3\nb,4\nn,9\nCV,8\n")
    assert main(["import", "p.csv", "--settings=name", "--kpi=rate:higher"]) == 0
    assert "Highest rate: n: 9" in parsed(capsys)


@pytest.mark.parametrize(
    "rows",
    [
        "/a,40,7\n/b,50,8\nAggregated,90,7.5",
        "x,1,5\nx,2,7\nx_mean,1.5,6\nx_median,1.5,6\nx_stddev,0.5,1\nx_cv,0.3,.2\ny,3,9",
    ],
)
def test_rows_in_which_tools_sum_up_are_no_configurations(rows: str, directory: Path, capsys: Capture) -> None:
    Path("p.csv").write_text(f"name, rate ,time_unit\n{rows}\n")
    assert main(["import", "p.csv", "--settings=name", "--kpi=rate:higher"]) == 0
    assert "is taken for no run; call it otherwise if it is one" in capsys.readouterr().err
    said = parsed(capsys)
    assert "Highest rate: /b: 50" in said or "Highest rate: y: 3" in said
    assert not any(word in said.partition("Highest")[0] for word in ("Aggregated", "x_"))


def test_operators_that_are_called_as_statistics_are_runs_where_no_repetitions_are(
    directory: Path, capsys: Capture
) -> None:
    Path("p.csv").write_text("op,time\nvar,5\nvar_mean,4\nstd,3\nstd_mean,2\n")
    assert main(["import", "p.csv", "--settings=op", "--kpi=time:lower:ms"]) == 0
    assert "Lowest time: std_mean: 2 ms" in parsed(capsys)


def test_a_workload_that_names_a_column_with_its_blanks_still_reads_it(directory: Path, capsys: Capture) -> None:
    Path("p.csv").write_text("n,version,time\n1,1.0,5\n")
    assert main(["import", "p.csv", "--settings=n,version", "--kpi=time:lower:ms"]) == 0
    workload = Path("p_workload.py")
    workload.write_text(workload.read_text().replace("kpis=['time']", "kpis=[' time']").replace('"time"', '" time"'))
    Path("p.csv").write_text("n,version, time\n1,1.0,5\n")
    assert "5 ms (one run" in parsed(capsys)


def test_rows_that_lack_a_kpi_are_said(table: Path, capsys: Capture) -> None:
    (table.parent / "runs.jsonl").write_text('{"image": "a", "rate": 1}\n{"image": "b", "Rate": 2}\n')
    assert main(["import", "runs.jsonl", "--settings=image", "--kpi=rate:higher:req/s"]) == 0
    assert "rate: unknown in 1 of 2 rows, where it is no number: row 2 is empty" in capsys.readouterr().err
