"""KPIs of hand-made runs: what counts, what is unknown and why, and what is doubtful."""

from __future__ import annotations

import datetime as dt
import json

import pytest
from training_trees import epochs, log, write_native

from matrix_benchmarking import lts, store
from matrix_benchmarking.workload import load

SETTINGS = {"strategy": "plain", "io_speed": 50}


@pytest.fixture
def workload():
    return load("projects.training_bench.visualizations")


def parse(workload, directory, **options):
    (entry,) = store.parse_tree(workload, directory, options=options)
    return entry


def test_the_first_two_epochs_are_warm_up_unless_the_option_says_otherwise(workload, tmp_path):
    write_native(tmp_path / "run", SETTINGS, epochs([9.0, 8.0, 4.0, 2.0]), log(23))
    assert parse(workload, tmp_path).kpis["epoch_duration"] == 3.0
    assert parse(workload, tmp_path, warm_up_epochs=0).kpis["epoch_duration"] == 5.75
    assert parse(workload, tmp_path, warm_up_epochs=3).lts.results.counted_epochs == 1
    entry = parse(workload, tmp_path, warm_up_epochs=7)
    assert entry.missing_kpis["epoch_duration"] == "all 4 epochs are warm-up"
    assert entry.lts.results.warm_up_epochs == 4


def test_a_directory_in_the_place_of_the_timings_is_a_sentence_about_it(workload, tmp_path):
    write_native(tmp_path / "run", SETTINGS, epochs([9.0, 8.0, 4.0]), log(23), peak_rss_bytes=10**9)
    (tmp_path / "run" / "timings.feather").unlink()
    (tmp_path / "run" / "timings.feather").mkdir()
    entry = parse(workload, tmp_path)
    assert [str(problem) for problem in entry.problems] == ["timings.feather: can't be read: Is a directory"]
    assert entry.kpis["process_memory"] == 10**9


def test_rates_loads_and_waiting_are_those_of_the_epochs_that_count(workload, tmp_path):
    rows = epochs([10.0, 10.0, 4.0, 4.0], wait_s=[9.0, 9.0, 1.0, 3.0], read_bytes=[0, 0, 80_000_000, 80_000_000])
    gpu = log(28, gpu=lambda moment: 1.0 if moment >= 20 else 0.0)
    facts = {"samples_per_epoch": 100, "bytes_per_epoch": 400_000_000, "peak_rss_bytes": 10**9}
    write_native(tmp_path / "run", SETTINGS, rows, gpu, **facts)
    kpis = parse(workload, tmp_path).kpis
    assert kpis == pytest.approx(
        {
            "epoch_duration": 4.0,
            "gpu_load": 1.0,
            "gpu_wait": 0.0,
            "data_wait": 0.5,
            "cpu_load": 0.5,
            "sample_rate": 25.0,
            "data_rate": 1e8,
            "read_rate": 2e7,
            "peak_memory": 0.25,
            "peak_gpu_memory": 0.75,
            "process_memory": 1e9,
        }
    )


def test_what_is_not_known_has_a_reason(workload, tmp_path):
    write_native(tmp_path / "run", SETTINGS, epochs([1.0] * 4), log(4))
    missing = parse(workload, tmp_path).missing_kpis
    assert missing == {
        "gpu_load": "GPU load was not measured",
        "gpu_wait": "GPU load was not measured",
        "data_wait": "the loop did not record how long it waited (a column wait_s of timings.feather)",
        "process_load": "the load by the training's own process was not measured",
        "sample_rate": "the run does not say how many samples an epoch has",
        "data_rate": "the run does not say how many bytes an epoch has",
        "read_rate": "the run does not say how many bytes read from storage an epoch has",
        "peak_gpu_memory": "GPU memory was not measured",
        "process_memory": "the process's memory was not measured",
    }


def test_an_epoch_that_the_log_does_not_cover_is_left_out_and_reported(workload, tmp_path):
    rows = epochs([4.0, 4.0, 4.0, 4.0])
    write_native(tmp_path / "run", SETTINGS, rows, log(11, gpu=lambda moment: 0.5))
    entry = parse(workload, tmp_path)
    assert entry.lts.results.gpu_epochs == 1
    assert "1 of 2 epoch is not used for the GPU load: samples are missing at the start or the end" in entry.warnings
    assert entry.kpis["epoch_duration"] == 4.0


def test_vectors_of_unequal_length_are_reported_and_the_epochs_beyond_left_out(workload, tmp_path):
    content = log(16, gpu=lambda moment: 0.5)
    content["gpus_load"] = content["gpus_load"][:28]
    write_native(tmp_path / "run", SETTINGS, epochs([4.0] * 4), content)
    entry = parse(workload, tmp_path)
    assert "the log's 'gpus_load' has 28 samples where 'time' has 37" in entry.warnings[0]
    assert (entry.lts.results.gpu_epochs, entry.lts.results.cpu_epochs) == (1, 2)


def test_a_log_that_covers_no_epoch_leaves_the_load_unknown(workload, tmp_path):
    write_native(tmp_path / "run", SETTINGS, epochs([10.0] * 3), log(5, gpu=lambda moment: 0.5))
    reason = "no epoch after the warm-up lies wholly within the log of the GPU load"
    assert parse(workload, tmp_path).missing_kpis["gpu_load"] == reason


def test_other_processes_that_took_the_cores_make_a_run_doubtful(workload, tmp_path):
    content = log(16, cpu=lambda moment: 1.0)
    content["processes"] = {"script": [0.5] * len(content["time"])}
    write_native(tmp_path / "run", SETTINGS, epochs([4.0] * 4), content)
    entry = parse(workload, tmp_path)
    assert entry.kpis["process_load"] == 0.25
    assert entry.warnings == ("other processes disturbed the run: they took 150 % of a core",)


@pytest.mark.parametrize(
    ("file", "content", "problem"),
    [
        ("timings.feather", b"no", "timings.feather: is not a feather file"),
        ("training.json", b"[1]", "training.json: is not a JSON object"),
        ("001__monitor/utilization.json", b'{"time": [1, 0]}', "its times go backwards"),
        ("001__monitor/utilization.json", b"", "is empty"),
    ],
)
def test_a_damaged_artifact_is_a_problem_of_its_run_and_stops_nothing(workload, tmp_path, file, content, problem):
    run = write_native(tmp_path / "run", SETTINGS, epochs([1.0] * 4), log(4))
    (run / file).write_bytes(content)
    entry = parse(workload, tmp_path)
    assert problem in " ".join(map(str, entry.problems))
    assert (
        entry.kpis or entry.missing_kpis["epoch_duration"] == "no epoch's duration could be read from timings.feather"
    )


def test_epochs_that_another_run_left_are_not_this_ones(workload, tmp_path):
    run = write_native(tmp_path / "run", SETTINGS, epochs([1.0] * 4), log(4))
    (began,) = {entry.lts.metadata.start for entry in store.parse_tree(workload, tmp_path)}
    for days, is_own in ((0, True), (9, False)):
        start = began + dt.timedelta(days=days)
        times = {"start": start.isoformat(), "end": (start + dt.timedelta(minutes=5)).isoformat()}
        (run / "test_start_end.json").write_text(json.dumps(times))
        entry = parse(workload, tmp_path)
        assert ("epoch_duration" in entry.kpis) == is_own
        assert any("did another run leave it?" in str(each) for each in entry.problems) != is_own


def test_facts_of_the_wrong_kind_are_unknown(workload, tmp_path):
    write_native(
        tmp_path / "run", SETTINGS, epochs([1.0] * 4), log(4), samples_per_epoch="many", bytes_per_epoch=-1, device=3
    )
    entry = parse(workload, tmp_path)
    assert "sample_rate" not in entry.kpis
    assert (entry.lts.results.bytes_per_epoch, entry.lts.results.device) == (None, None)


def test_payloads_of_both_kinds_of_runs_are_strict(workload, tmp_path):
    write_native(tmp_path / "gpu", SETTINGS, epochs([1.0] * 5), log(5, gpu=lambda moment: 0.5), versions={"torch": "2"})
    write_native(tmp_path / "cpu", SETTINGS | {"io_speed": "unlimited"}, epochs([1.0] * 5), log(5))
    matrix = store.parse_tree(workload, tmp_path)
    with open(tmp_path / "lts.json", "wb") as stream:
        lts.write_payloads(workload, matrix, stream, pretty=False)
    payloads = json.loads((tmp_path / "lts.json").read_text())
    assert {payload["metadata"]["settings"]["io_speed"] for payload in payloads} == {50, "unlimited"}
    assert payloads[1]["metadata"]["environment"] == {"versions": {"torch": "2"}}
    assert payloads[1]["kpis"]["epoch_duration"]["labels"]["strategy"] == "plain"


def test_an_epoch_that_waited_longer_than_it_took_cannot_be(workload, tmp_path):
    write_native(tmp_path / "run", SETTINGS, epochs([4.0] * 4, wait_s=[5.0] * 4), log(16))
    entry = parse(workload, tmp_path)
    assert entry.implausible == ("an epoch of 4 s waited 5 s for its data",)
    assert entry.problems == ()


def test_epochs_of_other_numbers_of_samples_are_said(workload, tmp_path):
    """An epoch of half the samples was the best configuration, and nothing was said."""
    for name, samples in (("whole", 450), ("other", 448), ("half", 225)):
        settings = {**SETTINGS, "strategy": name}
        write_native(tmp_path / name, settings, epochs([4.0] * 4), log(16), samples_per_epoch=samples)
    runs = store.parse_tree(workload, tmp_path).entries
    (said,) = workload.differences(runs)
    assert said.startswith(
        "3 runs are compared, and their epochs have 225 to 450 samples: a shorter epoch may only have"
    )
    assert workload.differences([run for run in runs if run.settings["strategy"] != "half"]) == []
