"""What `matbench benchmark` records, as the workload reads it: doubts, unknowns and gates."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy
import pytest

import matrix_benchmarking as mb
from matrix_benchmarking import store
from matrix_benchmarking.analyze.rank import rank
from matrix_benchmarking.analyze.study import Given, Study
from matrix_benchmarking.benchmark import file as files
from matrix_benchmarking.benchmark import measured_with
from matrix_benchmarking.benchmark.plan import Plan
from matrix_benchmarking.cli import main
from matrix_benchmarking.matrix import Entry
from matrix_benchmarking.workload import load
from projects.encoder_bench.answers import Answer, ReferenceAnswers, compare

RUN = "cpu-1/onnx-int8/batch_8/vus_16__repeat_0"
SUMMARY = "002__k6__run/summary.json"
GENERATOR = "002__k6__run/load_generator.json"
TIMESERIES = "002__k6__run/timeseries.json"
UTILIZATION = "001__monitor/utilization.json"
SERVER = "000__server/server.json"
FIDELITY = "003__fidelity/fidelity.json"


@pytest.fixture
def run(sample, tmp_path) -> Any:
    """Parses a copy of one run of the sample after ``change(file, function on its content)``."""
    copy = tmp_path / "results" / "run"
    shutil.copytree(sample / RUN, copy)

    def parsed(**changes: Any) -> Entry:
        for file, change in changes.items():
            path = copy / globals()[file]
            content = json.loads(path.read_text())
            change(content)
            path.write_text(json.dumps(content))
        (entry,) = store.parse_tree(load("encoder_bench"), tmp_path / "results").entries
        return entry

    return parsed


def doubts(entry: Entry) -> str:
    return " | ".join(entry.warnings)


@pytest.mark.parametrize(
    ("then", "now", "name"),
    [
        ("warm_up_s: 1.5", "warm_up_s: 2", "warm_up_s"),
        ("duration_s: 6", "requests: 600\n  duration_s: 6", "requests"),
        ("duration_s: 6", "request_timeout_s: 3\n  duration_s: 6", "request_timeout_s"),
        ("texts.txt", "more.txt", "inputs"),
        ("{k6_cores}", "2", "cpus"),
        ("batch_size: 1, hw_type: cpu-1", "batch_size: 2, hw_type: cpu-1", "answers.reference.settings.batch_size"),
    ],
)
def test_a_load_is_known_by_what_determines_it(tmp_path, then, now, name):
    examples, found = Path(__file__).parents[3] / "examples", []
    text = (examples / "encoder_cpu.yaml").read_text()
    assert then in text
    for each in (text, text.replace(then, now)):
        (tmp_path / "b.yaml").write_text(each)
        plan = Plan(files.read(tmp_path / "b.yaml"), examples, tmp_path / "r")
        found.append(plan.measured_with(plan.points[0]))
    assert "content of encoder_server/texts.txt" in found[0]
    assert measured_with.differing(*found) == [name]


def test_runs_that_an_earlier_version_made_are_not_said_to_be_measured_otherwise(sample, capsys):
    file = Path(__file__).parents[3] / "examples" / "encoder_cpu.yaml"
    assert main(["benchmark", str(file), f"--results-dirname={sample}"]) == 0
    assert capsys.readouterr().err == ""


def test_a_run_as_it_was_recorded_raises_no_doubt(run):
    assert run().warnings == ()


@pytest.mark.parametrize(
    ("change", "doubt"),
    [
        (
            {"SUMMARY": lambda content: content["metrics"]["vus_max"]["values"].update(value=4, max=4)},
            "k6 had 4 virtual users, and the settings say 16",
        ),
        (
            {"SUMMARY": lambda content: content["state"].update(testRunDurationMs=300.0)},
            "the load took 0.3 s of the 6 s that were planned",
        ),
        (
            {"SUMMARY": lambda content: content["state"].update(testRunDurationMs=15_000.0)},
            "the load of 6 s took 15 s, as its last requests were waited for: throughput is a mean over all of it, and "
            "too low by up to 60 %",
        ),
        (
            {"GENERATOR": lambda content: content.update(load_model={"kind": "SharedIterations", "max_duration_s": 1})},
            "the load of 1 s took 6.03 s, as its last requests were waited for: throughput is a mean over all of it, "
            "and too low by up to 83 %",
        ),
        (
            {"SUMMARY": lambda content: content["metrics"]["http_reqs"].update(thresholds={"rate>900": {"ok": False}})},
            "k6's threshold rate>900 of http_reqs was crossed",
        ),
    ],
)
def test_what_k6_says_of_its_load_is_held_against_what_was_planned(run, change, doubt):
    assert doubt in run(**change).warnings


@pytest.mark.parametrize(("p50_ms", "is_doubted"), [(45.0, True), (2600.0, False)])
def test_seconds_without_an_answer_are_a_doubt_where_answers_are_fast(run, p50_ms, is_doubted):
    def silent(content):
        content["requests"][2:4] = [0, 0]
        content["p50_ms"] = [p50_ms] * len(content["p50_ms"])

    said = "nothing was answered in 2 of 6 seconds of the load: the server stood still"
    assert (said in run(TIMESERIES=silent).warnings) is is_doubted


def later(content):
    content["setup_data"]["load_start_ms"] += 3_600_000


def test_a_summary_that_another_run_left_is_not_believed(run):
    assert run().implausible == ()
    soon = run(SUMMARY=later)  # of an hour later, as of another zone
    assert soon.implausible == ()
    assert doubts(soon) == "k6's load didn't begin while the run lasted: is its summary that of another run?"
    entry = run(SUMMARY=lambda content: content["setup_data"].update(load_start_ms=1_700_000_000_000))
    assert entry.implausible == ("k6's load didn't begin on a day of the run: its summary is that of another run",)


def wrong_median(content):
    content["metrics"]["http_req_duration{expected_response:true}"]["values"].update(med=1e3)


@pytest.mark.parametrize("change", [later, lambda content: content["setup_data"].update(load_start_ms=1), wrong_median])
def test_a_history_doubts_a_run_as_its_directory_does(run, tmp_path, change):
    entry, history = run(SUMMARY=change), f"sqlite:///{tmp_path}/history.db"
    assert (
        main(
            [
                "upload_lts",
                "--workload=encoder_bench",
                f"--results-dirname={tmp_path / 'results'}",
                f"--history={history}",
            ]
        )
        == 0
    )
    (kept,) = mb.open(history, workload="encoder_bench").study.matrix
    assert [*kept.warnings, *kept.implausible] == [*entry.warnings, *entry.implausible] != []


def test_checks_that_failed_are_a_doubt_where_the_script_does_not_count_what_they_tell(run):
    def failing(content):
        content["metrics"]["checks"]["values"].update(passes=100, fails=20, rate=5 / 6)

    assert "checks" not in doubts(run(SUMMARY=failing))
    counters = ("sent_inputs", "answered_inputs")
    foreign = run(SUMMARY=lambda content: [content["metrics"].pop(name) for name in counters])
    assert foreign.warnings == ("20 of 120 checks of the k6 script failed: all answers count all the same",)


def several(*counts: int) -> list[Answer]:
    return [Answer(vector=numpy.ones((count, 128), dtype=numpy.float32)) for count in counts]


def test_another_number_of_vectors_than_the_reference_makes_a_run_doubtful(run):
    reference = ReferenceAnswers("exact", several(700, 731, 760))
    same = compare(several(700, 731, 760), [None] * 3, reference, classification=False)
    entry = run(FIDELITY=lambda content: (content.clear(), content.update(same)))
    assert (entry.warnings, entry.kpis["fidelity"]) == ((), 1.0)
    results = entry.lts.results
    assert (results.vectors_per_input_least, results.vectors_per_input_most, results.embedding_size) == (700, 760, 128)
    assert results.vectors_per_input == pytest.approx(730.333333)
    other = compare(several(700, 731, 759), [None] * 3, reference, classification=False)
    entry = run(FIDELITY=lambda content: (content.clear(), content.update(other)))
    assert doubts(entry) == (
        "in 1 of the embeddings that were checked the length or number of vectors isn't that of the reference"
    )
    assert "fidelity" not in entry.kpis


def test_k6_that_uses_up_its_cores_may_be_the_limit(run):
    entry = run(UTILIZATION=lambda content: content["processes"].update(k6=[0.95] * len(content["time"])))
    assert "k6 used 95 % of a core, and had 1: it may be the limit, not the server" in doubts(entry)
    entry = run(GENERATOR=lambda content: content.update(cpus=[1, 2]))
    assert "may be the limit" not in doubts(entry)


@pytest.mark.parametrize("cpus", ["0", 0, {"0": 1}, ["0"], [True], [-1]])
def test_cores_that_cannot_be_understood_leave_the_cpu_load_unknown_and_are_a_problem(run, cpus):
    entry = run(SERVER=lambda content: content.update(cpus=cpus), GENERATOR=lambda content: content.update(cpus=cpus))
    assert [str(problem) for problem in entry.problems] == [
        f"{SERVER}: 'cpus' is no list of core numbers: {cpus!r}",
        f"{GENERATOR}: 'cpus' is no list of core numbers: {cpus!r}",
    ]
    assert entry.missing_kpis["cpu_util"] == "CPU load was not measured"
    assert entry.kpis["throughput"] > 0


def test_of_a_server_whose_place_is_not_understood_no_load_is_told(run, tmp_path):
    entry = run(SERVER=lambda content: content.update(local="no"))
    assert str(entry.problems[0]) == f"{SERVER}: 'local' is neither true nor false: 'no'"
    assert "cpu_util" not in entry.kpis


@pytest.mark.parametrize("content", ["", "[]", "{"])
def test_a_damaged_description_of_the_server_leaves_the_cpu_load_unknown(sample, tmp_path, content):
    shutil.copytree(sample / RUN, tmp_path / "results" / "run")
    (tmp_path / "results" / "run" / SERVER).write_text(content)
    (entry,) = store.parse_tree(load("encoder_bench"), tmp_path / "results").entries
    assert str(entry.problems[0]).startswith(f"{SERVER}: is ")
    assert "cpu_util" not in entry.kpis


def test_a_missing_summary_is_named_by_the_kpis_that_need_it_and_as_a_strict_problem(sample, tmp_path, capsys):
    shutil.copytree(sample / RUN, tmp_path / "results" / "run")
    (tmp_path / "results" / "run" / SUMMARY).unlink()
    (entry,) = store.parse_tree(load("encoder_bench"), tmp_path / "results").entries
    for kpi in ("1B_cost", "throughput", "avg_latency", "p95_latency", "error_rate"):
        assert entry.missing_kpis[kpi].endswith(" was not measured: no *__k6__run/summary.json could be read")
    directory, output = f"--results-dirname={tmp_path / 'results'}", f"--output-lts={tmp_path / 'lts.json'}"
    assert main(["parse", "--workload=encoder_bench", directory, output]) == 1
    said = "run: results.requests: expected a whole number, not null (not there: *__k6__run/summary.json)"
    assert f"\n  {said}\n" in capsys.readouterr().err


def test_dropped_iterations_are_said(run):
    def drop(content: Any) -> None:
        content["metrics"]["dropped_iterations"] = {"type": "counter", "values": {"count": 7, "rate": 1}}

    assert "k6 dropped 7 iterations: duration_s was over before them" in doubts(run(SUMMARY=drop))
    late = {"type": "trend", "values": {"p(95)": 3.0}}
    entry = run(SUMMARY=lambda content: content["metrics"].update(schedule_lag=late))
    assert "k6 dropped 7 iterations: it could not keep up the load" in doubts(entry)


@pytest.mark.parametrize(("lag_ms", "is_doubtful"), [(20.0, False), (900.0, True)])
def test_requests_that_were_sent_late_show_coordinated_omission(run, lag_ms, is_doubtful):
    def delay(content: Any) -> None:
        content["metrics"]["schedule_lag"] = {"type": "trend", "values": {"p(95)": lag_ms, "med": 1}}

    entry = run(SUMMARY=delay)
    assert ("k6 sent requests late, 5 % of them by more than 900 ms" in doubts(entry)) == is_doubtful
    assert entry.lts.results.schedule_lag_p95_ms == lag_ms


def test_invalid_answers_are_said(run):
    assert "3 of the answers that were checked were invalid" in doubts(
        run(FIDELITY=lambda content: content.update(invalid=3))
    )


def test_of_a_server_on_another_machine_utilisation_is_unknown_and_k6_is_still_watched(run):
    entry = run(SERVER=lambda content: content.update(local=False))
    assert {"cpu_util", "gpu_util"} <= entry.missing_kpis.keys()
    assert entry.lts.results.main_memory is None
    assert entry.lts.results.load_generator_cpu > 0


def test_a_gpu_that_the_monitor_saw_is_a_kpi(run):
    def with_gpu(content: Any) -> None:
        content["gpus_load"] = [[0.5]] * len(content["time"])
        content["gpus_memory"] = [[0.25]] * len(content["time"])

    entry = run(UTILIZATION=with_gpu)
    assert (entry.kpis["gpu_util"], entry.kpis["gpu_memory"]) == (0.5, 0.25)


def accuracy(value: float, reference: float | None = 0.97, error: float | None = 0.01) -> Any:
    def change(content: Any) -> None:
        content.clear()
        content.update(metric="accuracy", accuracy=value, reference_accuracy=reference, standard_error=error, invalid=0)

    return change


@pytest.mark.parametrize(("value", "loss", "is_ranked"), [(0.98, 0.0, True), (0.962, 0.8, True), (0.95, 2.0, False)])
def test_an_accuracy_more_than_one_standard_error_below_the_reference_cannot_be_the_best(
    run, tmp_path, value, loss, is_ranked
):
    entry = run(FIDELITY=accuracy(value))
    assert entry.kpis["accuracy"] == value
    assert entry.kpis["accuracy_loss"] == pytest.approx(loss, abs=1e-6)
    workload = load("encoder_bench")
    best = rank(store.parse_tree(workload, tmp_path / "results"), workload)
    assert bool(best.groups) == is_ranked
    assert is_ranked or best.excluded[0].kind == "accuracy_loss above 1.00"


def test_without_a_reference_the_loss_is_unknown_and_not_zero(run):
    entry = run(FIDELITY=accuracy(0.9, None, None))
    assert "accuracy_loss" in entry.missing_kpis
    assert entry.kpis["accuracy"] == 0.9


@pytest.mark.parametrize("content", ['{"mean": "high", "minimum": 1}', '{"metric": "accuracy", "accuracy": true}'])
def test_a_check_that_holds_something_else_than_numbers_is_a_problem(run, tmp_path, content):
    (tmp_path / "results" / "run" / FIDELITY).write_text(content)
    (problem,) = run().problems
    assert "something else than a number" in str(problem)


def test_the_environment_is_part_of_the_payload(run):
    environment = run().lts.metadata.environment
    assert environment["versions"]["k6"]
    assert environment["command"].startswith("matbench benchmark ")


def test_the_page_shows_how_to_repeat_the_best_run(run, tmp_path):
    from matrix_benchmarking.plotting import site

    run()
    workload = load("encoder_bench")
    matrix = store.parse_tree(workload, tmp_path / "results")
    site.write_site(Study(matrix, workload, given=Given(place="results")), tmp_path / "report", [])
    page = (tmp_path / "report" / "best-configuration.html").read_text()
    assert "Repeat the best" in page
    assert "matbench benchmark examples/encoder_cpu.yaml" in page
    assert "onnxruntime 1." in page


def test_values_that_cannot_be_are_said_and_are_no_problem_of_the_run(run):
    def latency(content: Any) -> None:
        values = content["metrics"]["http_req_duration{expected_response:true}"]["values"]
        values.update({"min": 0, "avg": 0, "med": 30.0, "p(90)": 31.0, "p(95)": 20.0, "p(99)": 32.0, "max": 25.0})

    def answers(content: Any) -> None:
        content["metrics"]["answered_inputs"]["values"]["count"] = 10**6

    assert run().implausible == ()
    entry = run(SUMMARY=latency)
    assert entry.implausible == (
        "the p95 latency (20 ms) is below the p90 latency (31 ms)",
        "the maximum latency (25 ms) is below the p99 latency (32 ms)",
        "the mean latency (0 ms) is too low beside the median latency (30 ms)",
    )
    (sentence,) = set(run(SUMMARY=answers).implausible) - set(entry.implausible)
    assert sentence.startswith("1,000,000 of ") and sentence.endswith(" inputs were answered")
    assert run(UTILIZATION=lambda content: content.update(main_memory=[2.0] * len(content["time"]))).implausible[
        -1
    ] == ("main_memory is 2, and a share is from 0 to 1")
    assert entry.problems == ()


@pytest.mark.parametrize("given", ["many", "0", "-2", "1.5", "null", "true"])
def test_inputs_per_request_that_are_no_number_of_inputs_are_said_and_multiply_nothing(run, tmp_path, given):
    run()
    with (tmp_path / "results" / "run" / "settings.yaml").open("a") as settings:
        settings.write(f"inputs_per_request: {given}\n")
    entry = run()
    assert [sentence.rpartition(", which")[2] for sentence in entry.implausible] == [" is no number of inputs"]
    assert entry.problems == ()
