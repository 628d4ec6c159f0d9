"""vLLM's and SGLang's files: values by hand in s, tokens/s and shares; failures, repeats, what is no run of its own."""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from llm_points import POINT, only, write

from matrix_benchmarking.analyze.study import Study
from matrix_benchmarking.matrix import Matrix
from matrix_benchmarking.workload import load

Parse = Callable[..., Matrix]


def test_a_vllm_point_comes_out_in_seconds_and_tokens(tmp_path: Path, parsed: Parse) -> None:
    write(tmp_path, "a.json", POINT)
    (entry,) = parsed(tmp_path)
    assert entry.problems == ()
    assert entry.settings == {
        "tool": "vllm",
        "model": "org/model-8b",
        "engine": "vllm",
        "backend": "vllm",
        "concurrency": 16,
        "request_rate": "unlimited",
        "input_length": 512,
    }
    expected = {
        "requests_per_s": 19.8,
        "output_tokens_per_s": 1980,
        "total_tokens_per_s": 12117.6,
        "goodput": 15.5,
        "ttft_mean": 0.06,
        "ttft_p50": 0.05,
        "ttft_p99": 0.25,
        "tpot_p50": 0.0075,
        "tpot_p99": 0.012,
        "itl_p99": 0.03,
        "e2e_mean": 0.9,
        "e2e_p99": 1.5,
        "error_share": 0.01,
        "input_length_mean": 512,
        "output_length_mean": 100,
        "input_tokens_per_s": 198 * 51.2,
        "tokens_per_s_per_user": 1 / 0.0075,
    }
    assert {name: entry.kpis[name] for name in expected} == pytest.approx(expected)
    assert "ttft_p90" not in entry.kpis
    assert "number of GPUs is unknown" in entry.missing_kpis["output_tokens_per_s_per_gpu"]


@pytest.mark.parametrize("limit", ["inf", math.inf])
def test_no_limit_is_said_so_and_a_rate_stays_a_number(tmp_path: Path, parsed: Parse, limit: object) -> None:
    write(tmp_path, "a.json", {**POINT, "request_rate": limit, "max_concurrency": None})
    write(tmp_path, "b.json", {**POINT, "request_rate": 2.5})
    first, second = parsed(tmp_path)
    assert (first.settings["request_rate"], first.settings["concurrency"]) == ("unlimited", "unlimited")
    assert (second.settings["request_rate"], second.settings["concurrency"]) == (2.5, 16)


def test_a_run_without_a_successful_request_has_no_latency_and_failed(tmp_path: Path, parsed: Parse) -> None:
    zeros = {name: 0.0 for name in POINT if name.endswith(("_ms", "throughput"))}
    write(tmp_path, "a.json", {**POINT, **zeros, "completed": 0, "failed": 200, "total_output_tokens": 0})
    (entry,) = parsed(tmp_path)
    assert entry.failed
    assert entry.kpis == {"error_share": 1.0, "requests": 0}


def test_failures_before_they_were_counted_are_the_prompts_that_are_missing(tmp_path: Path, parsed: Parse) -> None:
    old = {name: value for name, value in POINT.items() if name not in ("failed", "request_goodput")}
    write(tmp_path, "a.json", {**old, "request_goodput:": 3.25})
    (entry,) = parsed(tmp_path)
    assert entry.kpis["error_share"] == pytest.approx(0.01)
    assert entry.kpis["goodput"] == 3.25


def test_metadata_are_settings_in_our_names(tmp_path: Path, parsed: Parse) -> None:
    write(
        tmp_path,
        "a.json",
        {
            **POINT,
            "gpu": "L4",
            "tensor_parallel_size": "2",
            "num_gpus": "2",
            "note": "warm cache",
            "dataset_name": "sonnet",
        },
    )
    (entry,) = parsed(tmp_path, prices={"L4": 0.9})
    assert {name: entry.settings[name] for name in ("hw_type", "tp", "gpus", "note")} == {
        "hw_type": "L4",
        "tp": 2,
        "gpus": 2,
        "note": "warm cache",
    }
    assert entry.kpis["output_tokens_per_s_per_gpu"] == 990
    assert entry.kpis["1M_output_cost"] == pytest.approx(1e6 / 1980 * 2 * 0.9 / 3600)
    assert entry.kpis["1M_total_cost"] == pytest.approx(1e6 / 12117.6 * 2 * 0.9 / 3600)


def test_what_people_say_goes_before_what_follows_from_the_client(tmp_path: Path, parsed: Parse) -> None:
    said = {"framework": "sgl", "gpu": "4xNVIDIA_L40S", "input_len": "500", "max_model_len": 4096}
    measured = {"duration": 10.0, "avg_turns_completed": 8, "max_output_tokens_per_s": 5.0}
    added = {"mean_power_consumption": 3.5, "max_num_seqs": 64}
    hub = {"model_id": "~/.cache/modelscope/hub/models/org/Model___1-8b"}
    write(tmp_path, "a.json", {**said, **measured, **POINT, **hub, "total_input_tokens": 198 * 511 + 1, **added})
    (entry,) = parsed(tmp_path)
    assert entry.settings == {
        "tool": "vllm",
        "model": "org/Model.1-8b",
        "tokenizer": "org/model-8b",
        "engine": "sglang",
        "backend": "vllm",
        "hw_type": "4xNVIDIA_L40S",
        "gpus": 4,
        "input_length": 500,
        "max_model_len": 4096,
        "max_num_seqs": 64,
        "concurrency": 16,
        "request_rate": "unlimited",
    }


def test_forms_of_vllm_of_other_years_and_makers(tmp_path: Path, parsed: Parse) -> None:
    latencies = {name: value for name, value in POINT.items() if name.endswith("_ms")}
    begin = {name: POINT[name] for name in ("model_id", "tokenizer_id", "num_prompts", "request_rate")}
    write(tmp_path, "alone.json", {**begin, **latencies})
    old = {name.replace("e2el", "latency"): value for name, value in POINT.items()}
    write(tmp_path, "old.json", {**old, "max_concurrency": 2})
    turns = {name: value for name, value in POINT.items() if name not in ("max_concurrency", "tokenizer_id")}
    write(tmp_path, "turns.json", {"mode": "multi_turn", "multi_turn_concurrency": 4, **turns})
    matrix = parsed(tmp_path)
    assert [entry.kpis["e2e_p99"] for entry in matrix] == [1.5, 1.5, 1.5]
    assert {entry.settings["concurrency"] for entry in matrix} == {"unlimited", 2, 4}
    assert "requests" not in only(matrix, concurrency="unlimited").kpis


def test_the_price_of_a_mix_is_that_of_all_tokens_where_it_is_the_runs_own(tmp_path: Path, parsed: Parse) -> None:
    write(tmp_path, "a.json", {**POINT, "hw_type": "L4", "gpus": "1"})
    (entry,) = parsed(tmp_path, prices={"L4": 0.9}, input_per_output=5.12, output_weight=7.0)
    total = 0.9 / 3600 * 1e6 / (198 * 51.2 + 1980)
    assert entry.kpis["1M_blended_cost"] == pytest.approx(total)


def test_appended_lines_are_runs_and_what_repeats_another_file_is_none(tmp_path: Path, parsed: Parse) -> None:
    write(tmp_path, "all.json", POINT, {**POINT, "max_concurrency": 32})
    write(tmp_path, "all.pytorch.json", {**POINT})
    for run in (0, 1):
        write(tmp_path / "SERVE--max_num_seqs=4-BENCH--max_concurrency=2", f"run={run}.json", POINT)
    summary = [{**POINT, "run_number": run, "max_num_seqs": 4} for run in (0, 1)]
    (tmp_path / "SERVE--max_num_seqs=4-BENCH--max_concurrency=2" / "summary.json").write_text(json.dumps(summary))
    write(tmp_path / "summary", "summary.json", *())
    (tmp_path / "summary" / "summary.json").write_text(json.dumps(summary))
    matrix = parsed(tmp_path)
    assert sorted(entry.name for entry in matrix) == [
        "SERVE--max_num_seqs=4-BENCH--max_concurrency=2/run=0.json#run",
        "SERVE--max_num_seqs=4-BENCH--max_concurrency=2/run=1.json#run",
        *("all.json#line 1", "all.json#line 2", "summary/summary.json#run 0", "summary/summary.json#run 1"),
    ]
    swept = [entry for entry in matrix if entry.name.startswith("SERVE")]
    assert [(entry.repeat, entry.settings["max_num_seqs"]) for entry in swept] == [(0, 4), (1, 4)]


def test_single_requests_give_the_percentiles_that_the_tool_left_out(tmp_path: Path, parsed: Parse) -> None:
    firsts = [0.5, *[0.02 + 0.001 * place for place in range(99)]]
    gaps = [[0.01, 0.02] for _ in firsts]
    detailed = {
        "ttfts": firsts,
        "itls": gaps,
        "output_lens": [3] * 100,
        "input_lens": [512] * 100,
        "errors": [""] * 100,
    }
    write(tmp_path, "a.json", {**POINT, **detailed, "median_ttft_ms": 71.0})
    (entry,) = parsed(tmp_path)
    assert entry.kpis["ttft_p90"] == pytest.approx(np.percentile(firsts, 90))
    assert entry.kpis["ttft_p50"] == pytest.approx(0.071)  # what the tool says goes first
    assert entry.kpis["tpot_p95"] == pytest.approx(0.015)
    assert entry.kpis["e2e_p95"] == pytest.approx(np.percentile([one + 0.03 for one in firsts], 95))
    assert any("first request was cold" in each for each in entry.warnings)


def test_whole_answers_are_known_without_their_tokens(tmp_path: Path, parsed: Parse) -> None:
    some = {name: value for name, value in POINT.items() if "e2el" not in name}
    write(tmp_path, "a.json", {**some, "latencies": [1.0, 0.0, 2.0, 4.0], "queue_times": [0.1, 0, 0, 0]})
    (entry,) = parsed(tmp_path)
    assert entry.kpis["e2e_p50"] == 2
    assert entry.kpis["e2e_mean"] == pytest.approx(7 / 3)


@pytest.mark.parametrize(
    ("change", "doubt"),
    [
        ({"completed": 90, "failed": 0}, "90 requests stand behind the 99th percentiles"),
        ({"completed": 1, "failed": 0}, "^1 request stands behind the 99th percentiles"),
        ({"completed": 1, "failed": 0, "max_concurrency": 2}, "^1 request was answered, fewer than a concurrency of 2"),
        ({"random_output_len": 200}, "answers are shorter than asked: 100 tokens"),
        ({"random_output_len": 70}, "answers are longer than asked: 100 tokens, the mean, where 70 were asked for"),
        ({}, r"1\.00 % of the requests failed"),
        ({"failed": 20}, "198 requests were answered and 20 failed, and num_prompts is 200"),
        ({"num_prompts": 400}, "198 requests were answered and 2 failed, and num_prompts is 400"),
        ({"request_throughput": 39.6}, r"requests_per_s is 39\.6, and requests by the duration are 19\.8"),
        ({"total_token_throughput": 6000.0}, "total_tokens_per_s is 6,000, and total_tokens by the dur"),
        ({"max_concurrency": 8}, r"17\.82 requests were in flight, the mean, and concurrency is 8: 19\.8 a"),
        ({"max_concurrency": 512}, "17.82 requests were in flight, the mean, and concurrency is 512"),
        ({"max_concurrency": 40}, "17.82 requests were in flight, the mean, and concurrency is 40"),
        ({"max_concurrency": 256}, "198 requests were answered, fewer than a concurrency of 256 takes"),
        (
            {"max_concurrency": 80},
            "198 requests were answered, fewer than 3 for each of a concurrency of 80: start",
        ),
        ({"mean_tpot_ms": 16.0}, r"takes 0\.9 s, the mean, and by ttft and tpot its tokens take 1\.64 s"),
        ({"max_concurrency": -2}, "the setting concurrency is -2, which is no number of requests"),
        ({"request_rate": 50}, r"19\.8 requests/s were answered where 50 were asked for: it isn't at that load"),
        ({"request_rate": 0}, "the setting request_rate is 0, which is no rate"),
        ({"duration": 20.0}, "output_tokens_per_s is 1,980, and output_tokens by the duration are 990"),
        ({"request_goodput": 0.0}, r"goodput is 0 of 19\.8 requests/s: most missed the goals that were given"),
        ({"gpus": 8, "tp": 8, "pp": 2}, "gpus is 8, and tp × pp take 16: costs and rates per GPU aren't known"),
    ],
)
def test_what_makes_a_number_doubtful_is_said(
    tmp_path: Path, parsed: Parse, change: dict[str, Any], doubt: str
) -> None:
    write(tmp_path, "a.json", {**POINT, **change})
    (entry,) = parsed(tmp_path)
    assert any(re.search(doubt, each) for each in entry.warnings)


def test_where_more_than_a_tenth_of_the_requests_failed_nothing_is_best(tmp_path: Path, parsed: Parse) -> None:
    for failed, fast in ((20, 1.0), (60, 3.0)):
        answered = {"completed": 200 - failed, "failed": failed, "total_output_tokens": (200 - failed) * 100}
        more = {"max_concurrency": failed, "output_throughput": fast * 10 * (200 - failed)}
        write(tmp_path, f"{failed}.json", {**POINT, **answered, **more, "gpus": 1})
    best = Study(parsed(tmp_path), load("llm_bench")).best
    assert [group.best.settings["concurrency"] for group in best.groups] == [20]
    assert [one.reason for one in best.excluded] == ["error_share is 30.00 %, asked for is at most 10.00 %"]


def test_a_whole_answer_that_isnt_told_takes_as_long_as_its_tokens(tmp_path: Path, parsed: Parse) -> None:
    in_seconds = {name: value / 1000 if name.endswith("_ms") else value for name, value in POINT.items()}
    for name, point in (("a.json", POINT), ("b.json", in_seconds)):
        write(tmp_path, name, {key: value for key, value in point.items() if "e2el" not in key})
    right, wrong = parsed(tmp_path)
    assert not any("in flight" in said for said in right.warnings)
    assert any("requests were in flight, the mean, and concurrency is 16" in said for said in wrong.warnings)


def test_more_gpus_than_one_engine_takes_serve_several_engines(tmp_path: Path, parsed: Parse) -> None:
    for name, sizes in (("a", {"tp": 4}), ("b", {"tp": 8, "dp": 8}), ("c", {"tp": 8})):
        write(tmp_path, f"{name}.json", {**POINT, "gpus": 8, **sizes})
    assert not any("tp × pp take" in said for entry in parsed(tmp_path) for said in entry.warnings)


def test_what_fewer_gpus_than_an_engine_takes_cost_is_unknown(tmp_path: Path, parsed: Parse) -> None:
    for name, gpus in (("a", 8), ("b", 1)):
        write(tmp_path, f"{name}.json", {**POINT, "gpus": gpus, "tp": 8, "hw_type": "H100", "vendor": "aws"})
    right, wrong = parsed(tmp_path, prices={"H100": 2.0})
    assert right.kpis["output_tokens_per_s"] == wrong.kpis["output_tokens_per_s"]
    assert {"1M_output_cost", "output_tokens_per_s_per_gpu"} <= right.kpis.keys() - wrong.kpis.keys()
    assert wrong.missing_kpis["1M_output_cost"] == "gpus is 1, and tp × pp take 8"
    unpriced, _ = parsed(tmp_path)
    assert unpriced.missing_kpis["1M_output_cost"].startswith("no price is known for aws/H100; give one of a single")


def test_values_that_cannot_be_are_not_believed(tmp_path: Path, parsed: Parse) -> None:
    write(tmp_path, "a.json", {**POINT, "p99_ttft_ms": 40.0})
    write(tmp_path, "b.json", {**POINT, "output_throughput": -3.0})
    write(tmp_path, "c.json", {**POINT, "total_token_throughput": POINT["output_throughput"] / 1.2})
    write(tmp_path, "d.json", {**POINT, "total_token_throughput": POINT["total_token_throughput"] * 1000})
    write(tmp_path, "e.json", {**POINT, "mean_e2el_ms": 9e5, "median_e2el_ms": 8e5, "p99_e2el_ms": 1.2e6})
    write(tmp_path, "f.json", {**POINT, "duration": 0.0})
    first, second, third, tokens, seconds, at_once = parsed(tmp_path)
    assert at_once.implausible == ("198 requests took no time",)
    assert tokens.implausible == ("total_tokens_per_s is 1.212e+07, and requests_per_s by their lengths are 1.212e+04",)
    assert seconds.implausible == (
        "the p99 e2e (1,200 s) is longer than the run",
        "17,820 requests were in flight, the mean, and concurrency is 16: 19.8 answers a second that take 900,000 ms "
        "each: a unit is wrong",
    )
    assert "and of all tokens together it is" in third.implausible[0]
    assert first.implausible == ("the p99 ttft (0.04 s) is below the median ttft (0.05 s)",)
    assert "can't be below 0" in second.implausible[0]


@pytest.mark.parametrize(
    "content",
    [
        *(
            "",
            "{",
            json.dumps(POINT)[:200],
            json.dumps(POINT)[:-30],
            "[" * 100_000,
            '{"num_prompts": 1, "tokenizer_id": 2',
        ),
        json.dumps({"num_prompts": "x", "tokenizer_id": [], "request_throughput": {}, "completed": "many"}),
        json.dumps({**POINT, "ttfts": "no", "itls": 3, "date": 7, "max_concurrency": {}, "completed": math.nan}),
        json.dumps({**POINT, "ttfts": [None, "x"], "itls": [[None], 3], "errors": 5, "output_lens": [None, 2]}),
        json.dumps([POINT, 3, None, []]),
        "\xff\xfe",
    ],
)
def test_damaged_files_are_a_sentence_each(tmp_path: Path, parsed: Parse, content: str) -> None:
    write(tmp_path, "good.json", POINT)
    (tmp_path / "bad.json").write_bytes(content.encode("latin-1"))
    matrix = parsed(tmp_path)
    assert any(entry.name.startswith("good.json") and not entry.problems for entry in matrix)
    said = [problem.reason for entry in (*matrix, *matrix.unfinished) for problem in entry.problems]
    assert not any("Error" in each or ("line " in each and ".py" in each) for each in said), said


def test_the_real_files_of_vllm(formats: Path, tmp_path: Path, parsed: Parse) -> None:
    shutil.copytree(formats / "no-licence" / "vllm", tmp_path / "t")
    matrix = parsed(tmp_path / "t")
    assert [entry.problems for entry in matrix if entry.problems] == []
    assert len(matrix) == 7
    entry = only(matrix, input_length=1024, output_length=512)
    assert entry.settings["model"] == "neuralmagic/Meta-Llama-3.1-8B-Instruct-FP8"
    assert (entry.settings["quantization"], entry.settings["concurrency"]) == ("fp8", 2)
    assert entry.kpis["ttft_p99"] == pytest.approx(0.06904857998683)
    assert entry.kpis["e2e_p50"] == pytest.approx(0.0497 + 511 * 0.00747, rel=0.05)
    # a median of all gaps that was computed here agrees with what the tool says of the same numbers
    from projects.llm_bench.visualizations.readers import of_requests

    for path in sorted((tmp_path / "t").glob("openai-*.json")):
        document = json.loads(path.read_text())
        computed = of_requests(document)
        for name in ("ttft", "tpot", "itl"):
            for ours, theirs in (("mean", "mean"), ("p50", "median"), ("p99", "p99")):
                assert computed[f"{name}_{ours}"] == pytest.approx(document[f"{theirs}_{name}_ms"] / 1000, rel=1e-3)


def test_the_real_files_of_sglang(formats: Path, parsed: Parse) -> None:
    matrix = parsed(formats / "no-licence" / "sglang")
    entry = only(matrix, concurrency=32, output_length=128)
    assert entry.settings["model"] == "Qwen/Qwen2.5-3B-Instruct"
    assert (entry.settings["engine"], entry.settings["version"], entry.settings["gpus"]) == ("sglang", "0.5.5.post3", 1)
    assert (entry.settings["speculative"], entry.settings["disaggregated"]) == (False, False)
    assert entry.kpis["itl_p95"] == pytest.approx(0.02327, rel=1e-3)
    assert entry.kpis["concurrency_reached"] == pytest.approx(28.425, rel=1e-4)
    assert entry.kpis["output_tokens_per_s_per_gpu"] == pytest.approx(3190.94, rel=1e-5)
    assert not any("shorter than asked" in each for each in entry.warnings)  # lengths were drawn from 0 on


def test_lines_of_sglang_at_the_same_settings_are_repeats(tmp_path: Path, parsed: Parse) -> None:
    line = {
        "backend": "sglang",
        "dataset_name": "random",
        "request_rate": 8.0,
        "max_concurrency": None,
        "duration": 4.0,
        "completed": 100,
        "total_input_tokens": 100,
        "total_output_tokens": 200,
        "request_throughput": 25.0,
        "total_output_tokens_retokenized": 200,
        "output_throughput": 50.0,
        "median_ttft_ms": 20.0,
        "server_info": {"model_path": "m", "tp_size": 4, "dp_size": 2, "enable_dp_attention": True, "version": "0.5.1"},
    }
    write(tmp_path, "a.jsonl", line, {**line, "output_throughput": 51.0}, {**line, "request_rate": math.inf})
    matrix = parsed(tmp_path)
    found = {(str(entry.settings["request_rate"]), entry.repeat) for entry in matrix}
    assert found == {("8", 0), ("8", 1), ("unlimited", 0)}
    assert {entry.settings["gpus"] for entry in matrix} == {4}


def test_servers_behind_a_router_run_apart_and_say_their_model(tmp_path: Path, parsed: Parse) -> None:
    line = {"backend": "sglang", "dataset_name": "random", "duration": 4.0, "completed": 100, "output_throughput": 50.0}
    server = {"model_path": "m", "tp_size": 2, "pp_size": 1, "dp_size": 1, "version": "0.5.6"}
    workers = {"prefill": [{**server, "tp_size": 4}], "decode": [server, server], "internal_states": [{}]}
    for name in ("a", "pd_1p2d", "pd_1p4d"):
        write(tmp_path, f"{name}.jsonl", {**line, "server_info": workers})
    write(tmp_path, "b.jsonl", {**line, "server_info": {**server, "disaggregation_mode": "prefill"}})
    matrix = parsed(tmp_path)
    assert {entry.settings["model"] for entry in matrix} == {"m"}
    assert {entry.settings["disaggregated"] for entry in matrix} == {True}
    found = {entry.name: (entry.settings.get("gpus"), entry.settings.get("tp")) for entry in matrix}
    assert found == {
        "a.jsonl#run": (8, None),
        "b.jsonl#run": (None, 2),
        "pd_1p2d.jsonl#run": (8, None),
        "pd_1p4d.jsonl#run": (None, None),
    }


def test_runs_that_are_compared_and_are_not_alike_are_a_finding(tmp_path: Path, parsed: Parse) -> None:
    for name, tokens, requests in (("a", 100, 198), ("b", 101, 190), ("c", 160, 5)):
        counts = {"completed": requests, "total_output_tokens": tokens * requests, "total_input_tokens": 512 * requests}
        write(tmp_path, f"{name}.json", {**POINT, **counts})
    found = load("projects.llm_bench.visualizations").differences
    assert found is not None
    unlike, requests = found(parsed(tmp_path).entries)
    assert unlike.startswith("3 runs of org/model-8b are compared, and their output_length_mean is 100 to 160")
    assert "5 to 198: requests that were answered" in requests


def test_hardware_by_its_plain_name_and_by_a_longer_one_may_be_the_same(tmp_path: Path, parsed: Parse) -> None:
    found = load("projects.llm_bench.visualizations").differences
    assert found is not None
    for name in ("H100", "NVIDIA H100-SXM-80GB"):
        write(tmp_path, f"{name}.json", {**POINT, "hw_type": name})
    matrix = parsed(tmp_path)
    assert found(matrix.entries) == ["'hw_type' is H100 in 1, NVIDIA H100-SXM-80GB in 1 runs: is it the same hardware?"]
    write(tmp_path, "H100.json", {**POINT, "hw_type": "NVIDIA H100 PCIe"})
    assert found(parsed(tmp_path).entries) == []


def test_the_second_form_of_sglang_has_no_rate_of_requests(tmp_path: Path, parsed: Parse) -> None:
    line = {"backend": "sglang", "dataset_name": "sharegpt", "request_rate": math.inf, "max_concurrency": None}
    line |= {"total_input_tokens": 50, "total_output_tokens": 20, "total_output_tokens_retokenized": 19}
    line |= {"mean_e2e_latency_ms": 850.0, "output_throughput": 2.0, "duration": 10.0, "completed": 5}
    write(tmp_path, "a.jsonl", line)
    (entry,) = parsed(tmp_path)
    expected = {"e2e_mean": 0.85, "requests_per_s": 0.5, "output_tokens_per_s": 2, "input_tokens_per_s": 5}
    assert {name: entry.kpis.get(name) for name in expected} == pytest.approx(expected)


def test_the_first_form_of_sglang_has_ms_in_names_without_a_unit(tmp_path: Path, parsed: Parse) -> None:
    line = {
        "backend": "sglang",
        "dataset_name": "random",
        "request_rate": 4.0,
        "total_input": 5000,
        "total_output": 2000,
        "total_output_retokenized": 1990,
        "mean_e2e_latency": 850.0,
        "median_ttft": 35.0,
        "median_itl": 9.0,
        "output_token_throughput": 200.0,
        "random_input_len": 50,
        "random_output_len": 20,
        "random_range_ratio": 1.0,
        "duration": 10.0,
        "completed": 100,
    }
    write(tmp_path, "a.jsonl", line)
    (entry,) = parsed(tmp_path)
    expected = {"e2e_mean": 0.85, "ttft_p50": 0.035, "itl_p50": 0.009, "output_tokens_per_s": 200, "requests_per_s": 10}
    assert {name: entry.kpis.get(name) for name in expected} == pytest.approx(expected)
    assert (entry.settings["engine"], entry.settings["input_length"], entry.settings["request_rate"]) == (
        "sglang",
        50,
        4,
    )


@pytest.mark.parametrize("options", [{"input_per_output": -1.0}, {"output_weight": 0.0}, {"output_weight": -4.0}])
def test_a_mix_that_makes_no_sense_has_no_price(tmp_path: Path, parsed: Parse, options: dict[str, float]) -> None:
    write(tmp_path, "a.json", {**POINT, "hw_type": "L4", "gpus": "1"})
    (entry,) = parsed(tmp_path, prices={"L4": 0.9}, **options)
    assert "say no mix" in entry.missing_kpis["1M_blended_cost"]
    assert "1M_output_cost" in entry.kpis


def test_vllms_client_of_2024_had_an_input_throughput_and_no_concurrency(tmp_path: Path, parsed: Parse) -> None:
    new = ("total_token_throughput", "max_concurrency", "burstiness", "failed", "request_goodput")
    old = {name: value for name, value in POINT.items() if name not in new}
    write(tmp_path, "a.json", {**old, "best_of": 1, "use_beam_search": False, "input_throughput": 10137.6})
    (entry,) = parsed(tmp_path)
    assert entry.settings == {
        "tool": "vllm",
        "model": "org/model-8b",
        "engine": "vllm",
        "backend": "vllm",
        "concurrency": "unlimited",
        "request_rate": "unlimited",
        "input_length": 512,
    }
    assert entry.kpis["total_tokens_per_s"] == pytest.approx(10137.6 + 1980)
    assert entry.kpis["ttft_p99"] == 0.25
