"""Each setting that varies reaches what is measured, or the file says that it doesn't."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from matrix_benchmarking.benchmark import file
from matrix_benchmarking.benchmark.plan import Plan
from matrix_benchmarking.errors import ConfigError
from matrix_benchmarking.filters import parse

ENCODER = {"workload": "encoder_bench", "common_settings": {"task": "embedding", "model": "m", "vus": 1}}
LOAD = {"inputs": "texts.txt"}
URL = {"url": "http://127.0.0.1:1"}


def plan(tmp_path: Path, filters: str = "", **content: Any) -> Plan:
    path = tmp_path / "b.yaml"
    path.write_text(yaml.safe_dump(content))
    return Plan(file.read(path), tmp_path, tmp_path / "results", filters=parse(filters))


def encoder(tmp_path: Path, expe: dict[str, Any], **content: Any) -> Plan:
    return plan(tmp_path, **{**ENCODER, "expe": expe, "target": URL, "load": LOAD, **content})


BATCHES: dict[str, Any] = {"a": {"batch_size": [32, 64]}}


def test_a_setting_that_reaches_nothing_is_refused(tmp_path):
    with pytest.raises(ConfigError) as caught:
        encoder(tmp_path, BATCHES)
    assert str(caught.value) == (
        "batch_size reaches neither the server nor the load: its points would measure the same thing; name "
        "{batch_size} there, or say that it is meant so: unused_settings: [batch_size]"
    )


def test_several_are_named_at_once_and_one_that_is_meant_is_not(tmp_path):
    expe = {"a": {"batch_size": [1, 2], "image": ["x", "y"]}}
    with pytest.raises(ConfigError, match=r"^batch_size, image reach neither"):
        encoder(tmp_path, expe)
    with pytest.raises(ConfigError, match=r"^image reaches neither"):
        encoder(tmp_path, expe, unused_settings=["batch_size"])
    assert len(encoder(tmp_path, expe, unused_settings=["batch_size", "image"]).points) == 4


@pytest.mark.parametrize(
    "content",
    [
        {"expe": {"a": {"vus": [1, 2]}}},  # a default of the load names it
        {"expe": {"a": {"inputs_per_request": [1, 2]}}},  # the driver looks at it
        {"expe": BATCHES, "load": {**LOAD, "route": "/of/{batch_size}"}},
        {"expe": BATCHES, "load": {**LOAD, "request_timeout_s": "{batch_size}"}},
        {"expe": BATCHES, "target": {"process": {"command": ["x", "{port}"], "environment": {"B": "{batch_size}"}}}},
        {"expe": BATCHES, "target": {"url": "http://127.0.0.1:{batch_size}"}},
        {
            "expe": {"a": {"hw_type": ["big", "small"]}},
            "derived": {"hw_type": {"big": {"cores": "0,1"}, "small": {"cores": "0"}}},
            "target": {"process": {"command": ["x", "{port}"], "cpus": "{cores}"}},
        },
        # What only goes along with a setting that reaches something is a label.
        {"expe": {"a": {"vus": 1, "name": "few"}, "b": {"vus": 9, "name": "many"}}},
        {"expe": {"a": {"vus": {"search": {"max": 8}}}}},
    ],
)
def test_whatever_way_it_takes_it_reaches_something(tmp_path, content):
    encoder(tmp_path, content.pop("expe"), **content)


def test_values_that_mean_the_same_are_refused_too(tmp_path):
    same = {"hw_type": {"big": {"cores": "0"}, "small": {"cores": "0"}}}
    target = {"process": {"command": ["x", "{port}"], "cpus": "{cores}"}}
    with pytest.raises(ConfigError, match="hw_type reaches neither"):
        encoder(tmp_path, {"a": {"hw_type": ["big", "small"]}}, derived=same, target=target)


def test_a_load_with_inputs_per_request_of_its_own_ignores_the_setting(tmp_path):
    with pytest.raises(ConfigError, match="inputs_per_request reaches neither"):
        encoder(tmp_path, {"a": {"inputs_per_request": [1, 2]}}, load={**LOAD, "inputs_per_request": 4})


def test_a_search_at_two_values_that_reach_nothing_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="image reaches neither"):
        encoder(tmp_path, {"a": {"vus": {"search": {"max": 8}}, "image": ["x", "y"]}})


def test_one_value_at_a_time_is_what_somebody_does_who_restarts_the_server_by_hand(tmp_path):
    content = {**ENCODER, "expe": BATCHES, "target": URL, "load": LOAD}
    assert len(plan(tmp_path, "batch_size=32", **content).points) == 1


def test_a_command_may_read_its_environment(tmp_path):
    plan(tmp_path, expe=BATCHES, script_tpl="./measure.sh")
    plan(
        tmp_path,
        expe={"a": {"batch_size": [1, 2], "x": [1, 2]}},
        script_tpl="sh -c 'x $MATBENCH_SETTING_X' {batch_size}",
    )
    with pytest.raises(ConfigError, match=r"^batch_size never reaches the command: its points"):
        plan(tmp_path, expe={"a": {"batch_size": [1, 2], "x": [1, 2]}}, script_tpl="./measure.sh {x}")
    with pytest.raises(ConfigError, match=r"^batch_size reaches neither the server nor the command"):
        expe = {"a": {"batch_size": [1, 2], "x": [1, 2]}}
        plan(tmp_path, expe=expe, target=URL, load={"command": ["ab", "-c", "{x}", "{url}"]})


def test_a_name_that_is_no_setting_is_a_mistake(tmp_path):
    with pytest.raises(ConfigError, match=r"unused_settings: .* no setting 'batchsize': did you mean 'batch_size'\?"):
        encoder(tmp_path, BATCHES, unused_settings=["batchsize"])


@pytest.mark.parametrize(
    ("value", "text"), [(32, "32"), (0.5, "0.5"), (1.0, "1.0"), (True, "true"), (None, "null"), ("x", "x")]
)
def test_environment_values_are_text_whatever_the_settings_type(tmp_path, value, text):
    expe = {"a": {"batch_size": [value]}}
    process = {"command": ["x", "{port}"], "environment": {"SIZE": "{batch_size}", "FIXED": 8}}
    made = encoder(tmp_path, expe, target={"process": process})
    assert made.target_of(made.points[0]).process.environment == {"SIZE": text, "FIXED": "8"}
    made = encoder(
        tmp_path,
        {"a": {"batch_size": [value], "hw_type": "x1"}},
        target={"hf_endpoint": {"repository": "a/b", "env": {"INFINITY_BATCH_SIZE": "{batch_size}"}}},
    )
    assert made.target_of(made.points[0]).hf_endpoint.env == {"INFINITY_BATCH_SIZE": text}


@pytest.mark.parametrize("value", [None, [1], {"a": 1}])
def test_what_is_no_environment_value_is_said(tmp_path, value):
    with pytest.raises(ConfigError, match=r"target\.process\.environment\.SIZE: expected .*text"):
        encoder(tmp_path, BATCHES, target={"process": {"command": ["x"], "environment": {"SIZE": value}}})
