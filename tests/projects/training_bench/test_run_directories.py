"""The public layout: settings from names, runs among other things, and what its KPIs are."""

from __future__ import annotations

import pytest
from training_trees import epochs, log, write_native, write_public

from matrix_benchmarking import store
from matrix_benchmarking.errors import SettingsError
from matrix_benchmarking.workload import load
from projects.training_bench.visualizations.store import io_speed, settings_of


@pytest.fixture
def workload():
    return load("projects.training_bench.visualizations")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("2023-02-08_14-48-02_benchmarking_original_0_1000mb", ("benchmarking", "original", 1000, 0)),
        ("2023-02-08_14-48-02_benchmarking_ring-buffer_2_unlimited", ("benchmarking", "ring-buffer", "unlimited", 2)),
        ("2023-02-08_14-48-02_my_long_name_fp16_1_250", ("my_long_name", "fp16", 250, 1)),
        ("20230208_night_5_run_blosc_0_0.5gb", ("night_5_run", "blosc", 500, 0)),
        ("20230208-144802_x_plain_10_62.5", ("x", "plain", 62.5, 10)),
    ],
)
def test_the_settings_are_read_from_the_end_of_the_name(name, expected):
    found = settings_of(name)
    assert (found["name"], found["strategy"], found["io_speed"], found["repeat"]) == expected
    assert type(found["io_speed"]) is type(expected[2])


@pytest.mark.parametrize("name", ["results", "2023-02-08_plain_0_unlimited", "2023_x_plain_one_unlimited", "a_b_c_0_9"])
def test_another_name_is_no_run(name):
    with pytest.raises(SettingsError, match="is not <timestamp>_<name>"):
        settings_of(name)


@pytest.mark.parametrize("text", ["1000", "1000mb", "1000MB", "1000m", "1gb", "1000000kb"])
def test_a_speed_is_the_same_in_each_way_to_write_it(text):
    assert io_speed(text) == 1000


def test_a_public_tree_is_read_without_settings_files_ids_or_exit_codes(tmp_path, workload):
    rows = epochs([20.0, 20.0, 10.0, 12.0])
    write_public(tmp_path, "2023-02-08_14-48-02_benchmarking_original_0_1000mb", rows, log(62, gpu=lambda moment: 0.25))
    (tmp_path / "2023-02-08_14-48-02_benchmarking_original_1_1000mb").mkdir()
    (entry,) = store.parse_tree(workload, tmp_path)
    assert entry.settings == {"name": "benchmarking", "strategy": "original", "io_speed": 1000}
    assert (entry.exit_code, entry.failed, entry.problems, entry.missing_files) == (None, False, (), ())
    assert entry.kpis["epoch_duration"] == 11.0
    assert entry.kpis["gpu_load"] == pytest.approx(0.25)
    assert entry.kpis["gpu_wait"] == pytest.approx(0.75)
    assert entry.lts.metadata.start.timestamp() == rows[0]["start_time"]


def test_a_run_that_still_goes_on_is_unfinished(tmp_path, workload):
    name = "2023-02-08_14-48-02_benchmarking_original_0_1000mb"
    write_public(tmp_path, name, epochs([1.0] * 4), log(4))
    write_public(tmp_path, f"running_{name.replace('_0_', '_1_')}", epochs([1.0]), None)
    matrix = store.parse_tree(workload, tmp_path)
    assert len(matrix) == 1
    assert [entry.repeat for entry in matrix.unfinished] == [1]


def test_a_missing_log_is_named_as_the_file_of_its_own_layout(tmp_path, workload):
    write_public(tmp_path, "2023-02-08_14-48-02_b_original_0_unlimited", epochs([1.0] * 4), None)
    write_native(tmp_path / "own", {"strategy": "plain", "io_speed": 50}, epochs([1.0] * 4), log(4))
    public, own = store.parse_tree(workload, tmp_path)
    assert public.missing_files == ("fold_all/system_log*.json",)
    assert own.missing_files == (".uuid", "test_start_end.json")
    assert public.missing_kpis["gpu_load"] == "GPU load was not measured"
    assert "epoch_duration" in public.kpis


def test_of_several_logs_the_last_one_counts(tmp_path, workload):
    run = write_public(
        tmp_path, "2023-02-08_14-48-02_b_original_0_unlimited", epochs([4.0] * 3), log(12, lambda t: 0.5)
    )
    import json

    later = run / "fold_all" / "system_log_2023-02-08_20-00-00.json"
    later.write_text(json.dumps(log(12, gpu=lambda moment: 0.75)))
    (entry,) = store.parse_tree(workload, tmp_path)
    assert entry.kpis["gpu_load"] == pytest.approx(0.75)
