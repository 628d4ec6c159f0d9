"""The pages of llm_bench over a made sweep of three variants: who is best where, and what is said where nothing is."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from llm_points import POINT, write

from matrix_benchmarking.analyze.study import Given, Study
from matrix_benchmarking.cli import main
from matrix_benchmarking.matrix import Matrix
from matrix_benchmarking.plotting.catalogue import catalogue_of
from matrix_benchmarking.workload import load
from projects.llm_bench.visualizations.plotting.limits import highest_loads, limits_conclusion, reliability
from projects.llm_bench.visualizations.plotting.pareto import at_speed, best_within, fronts_of, pareto_figure
from projects.llm_bench.visualizations.plotting.prices import (
    PriceDial,
    cheapest_points,
    dial_conclusion,
    dial_figure,
    ranking,
    with_offers,
)
from projects.llm_bench.visualizations.plotting.sources import sources_of
from projects.llm_bench.visualizations.plotting.spots import (
    all_variants,
    groups_of,
    label_of,
    names_of_variants,
    on_repeats,
    prices_of,
    spots_of,
)

Parse = Callable[..., Matrix]
WORKLOAD = "projects.llm_bench.visualizations"
# by variant: GPUs, and for each concurrency what a user gets and what all get, in tokens/s
SWEEP = {
    ("h100", "vllm-0.10.0"): (1, {1: (100, 95), 8: (80, 600), 64: (40, 2400)}),
    ("h100", "vllm-0.11.0"): (1, {1: (90, 90), 8: (70, 550), 64: (45, 2700)}),
    ("mi300x", "sglang-0.5.5"): (2, {1: (160, 150), 8: (120, 900), 64: (60, 3600)}),
}


def sweep(tree: Path, repeats: int = 3) -> Path:
    for (hardware, engine), (gpus, loads) in SWEEP.items():
        place = tree / hardware / engine
        place.mkdir(parents=True)
        (place / "settings.yaml").write_text(f"gpus: {gpus}\n")
        for concurrency, (user, tokens) in loads.items():
            for repeat in range(repeats):
                noise = 1 + 0.002 * (repeat - 1)
                point = {
                    **POINT,
                    "backend": "openai",
                    "max_concurrency": concurrency,
                    "output_throughput": tokens * noise,
                    "total_token_throughput": 5 * tokens * noise,
                    "total_input_tokens": int(40 * tokens * noise) | 1,
                    "median_tpot_ms": 1000 / user / noise,
                    "p99_tpot_ms": 1300 / user,
                    "mean_tpot_ms": 1010 / user,
                    "p99_ttft_ms": 100 + 20.0 * concurrency,
                }
                (place / f"conc{concurrency}-{repeat}.json").write_text(json.dumps(point))
    return tree


@pytest.fixture
def study(tmp_path: Path, parsed: Parse) -> Study:
    prices = {"h100": 2.0, "mi300x": 1.5}
    matrix = parsed(sweep(tmp_path), prices=prices, settings_from="{hw_type}/{engine}-{version}")
    return Study(matrix, load(WORKLOAD), given=Given(prices=prices))


def test_each_variant_has_its_points_with_their_repeats(study: Study) -> None:
    spots = spots_of(study, study.matrix)
    assert len(spots) == 9
    assert {spot.variant for spot in spots} == set(all_variants(spots_of(study, study.matrix)))
    assert {len(spot.runs) for spot in spots} == {3}
    assert on_repeats(spots) == ""
    assert prices_of(study.matrix) == pytest.approx({"h100": 2.0, "mi300x": 1.5})


def test_a_limit_leaves_the_points_of_all_versions_that_keep_it(study: Study) -> None:
    under = study.under(0.3)  # s of ttft_p99: 0.1 + 0.02 a client
    assert under.limited is not None
    assert under.best.newest is not None  # the ranking is of vLLM 0.11.0 alone, beside the other engine
    labels = {(spot.variant, spot.load) for spot in spots_of(under, study.matrix)}
    assert len(labels) == 6
    assert any("0.10.0" in variant for variant, _ in labels)
    catalogue = catalogue_of(under)
    _, said = catalogue.plot("Pareto front").do_plot(*catalogue.arguments())
    assert any("9 not sure to keep the limit" in each for each in said)
    for name in ("Pareto front", "At a user's speed", "Highest load under limits"):
        _, (first, *_) = catalogue.plot(name).do_plot(*catalogue.arguments())
        assert first.startswith(f"Of all {under.best.newest.of} versions: ")


def test_the_front_says_who_is_best_at_a_users_speed(study: Study) -> None:
    x, y = (study.workload.kpis[name] for name in ("tokens_per_s_per_user", "output_tokens_per_s_per_gpu"))
    fronts, there = fronts_of(spots_of(study, study.matrix), x, y)
    assert len(there) == 9
    assert [len(points) for points in fronts.values()] == [3, 3, 3]
    rows = at_speed(fronts, 75, is_per_gpu=True)
    first, second, third = rows
    assert "sglang" in first.variant
    assert first.found is not None
    assert first.found.y == pytest.approx(450 + (120 - 75) / 60 * 1350, rel=0.01)
    assert first.cost == pytest.approx(1.5e6 / 3600 / first.found.y, rel=1e-3)
    assert "0.10.0" in second.variant
    assert "0.11.0" in third.variant
    beyond = at_speed(fronts, 130, is_per_gpu=True)
    assert [one.found is None for one in beyond] == [False, True, True]
    assert "2,700 tokens/s/GPU" in best_within(fronts, x, y, 20)
    assert best_within(fronts, x, y, 500).startswith("No point has")


def test_the_figure_has_a_line_a_variant_lines_of_cost_and_a_limit_to_drag(study: Study) -> None:
    x, y = (study.workload.kpis[name] for name in ("tokens_per_s_per_user", "output_tokens_per_s_per_gpu"))
    fronts, there = fronts_of(spots_of(study, study.matrix), x, y)
    figure = pareto_figure(fronts, there, x, y, all_variants(spots_of(study, study.matrix)), {"h100": 2.0})
    assert len(figure.data) == 3
    assert all(trace.error_y.visible for trace in figure.data)
    costs = {note.text: shape.y0 for note, shape in zip(figure.layout.annotations, figure.layout.shapes, strict=True)}
    assert costs["1 USD per 10⁶ output tokens on h100"] == pytest.approx(2e6 / 3600)
    steps = figure.layout.sliders[0].steps
    assert steps[0].label == "no limit"
    assert "0.11.0" in steps[1].args[0]["annotations"][-1]["text"]


def test_the_highest_load_under_limits_is_that_of_a_point_which_keeps_both(study: Study) -> None:
    workload = study.workload
    limits = [(workload.kpis["ttft_p99"], 0.5), (workload.kpis["tpot_p99"], 0.02)]
    rows = highest_loads(
        study.of_all_versions.groups,
        limits,
        workload.kpis["output_tokens_per_s"],
        None,
        names_of_variants(study.read.entries, workload),
    )
    assert len(rows) == 3
    assert [round(row.load or 0) for row in rows] == [900, 600, 550]
    assert "concurrency 8" in limits_conclusion(rows, limits, workload.kpis["output_tokens_per_s"])
    impossible = [(workload.kpis["ttft_p99"], 0.01)]
    none = highest_loads(study.of_all.groups, impossible, workload.kpis["output_tokens_per_s"], None, ["version"])
    assert all(row.load is None for row in none)
    assert "No variant is sure to keep" in limits_conclusion(none, impossible, workload.kpis["output_tokens_per_s"])


def test_what_has_no_price_takes_part_in_the_highest_load(tmp_path: Path, parsed: Parse) -> None:
    """Nothing was said of it: the variant with the most tokens was missing as soon as another one had a price."""
    prices = {"h100": 2.0}
    matrix = parsed(sweep(tmp_path), prices=prices, settings_from="{hw_type}/{engine}-{version}")
    catalogue = catalogue_of(Study(matrix, load(WORKLOAD), given=Given(prices=prices)))
    arguments = catalogue.arguments({"first_limit": 5.0, "second_limit": 0.5})
    _, (said, *_) = catalogue.plot("Highest load under limits").do_plot(*arguments)
    assert "the highest output_tokens_per_s is that of sglang · version 0.5.5 · mi300x" in said


def test_the_price_dial_puts_the_variants_in_the_order_of_each_price(study: Study) -> None:
    found = cheapest_points(spots_of(study, study.matrix), 3.0, 4.0)
    prices = {"h100": 2.0, "mi300x": 1.5}
    order = [(one.hardware, cost) for one, cost in ranking(found, prices)]
    own = [entry.kpis["1M_blended_cost"] for entry in study.matrix if entry.settings["concurrency"] == 64]
    assert min(cost for _, cost in order) == pytest.approx(min(own), rel=0.01)
    assert order[0][0] == "h100"  # 2 / 2700 is less than 1.5 / 1800
    assert ranking(found, {**prices, "h100": 3.0})[0][0].hardware == "mi300x"
    assert "h100 is cheapest at less than 2.2" in dial_conclusion(found, "h100", prices)
    figure = dial_figure(found, "h100", prices, all_variants(spots_of(study, study.matrix)))
    dear = next(step for step in figure.layout.sliders[0].steps if step.label == "10")
    assert "mi300x" in dear.args[1]["yaxis.categoryarray"][-1]
    assert "No price is known for mi300x" in dial_conclusion(found, "h100", {"h100": 2.0})


def test_a_cost_is_the_mean_of_the_runs_costs_on_each_page(study: Study) -> None:
    rare = next(run for run in study.matrix if run.settings["concurrency"] == 64)
    for name in ("output_tokens_per_s_per_gpu", "total_tokens_per_s_per_gpu"):
        rare.kpis[name] /= 4.0
    for name in ("1M_output_cost", "1M_blended_cost"):
        rare.kpis[name] *= 4.0
    spots = spots_of(study, study.matrix)
    (spot,) = [one for one in spots if rare in one.runs]
    own, mixed, x, y = (
        study.workload.kpis[name]
        for name in ("1M_output_cost", "1M_blended_cost", "tokens_per_s_per_user", "output_tokens_per_s_per_gpu")
    )
    value, blended, speed = spot.value(own), spot.value(mixed), spot.value(x)
    assert value is not None and blended is not None and speed is not None
    found = at_speed(fronts_of([spot], x, y)[0], speed.mean, is_per_gpu=True)
    assert [one.cost for one in found] == [pytest.approx(value.mean)]
    price = prices_of(study.matrix)[str(rare.settings["hw_type"])]
    assert [one.cost(price) for one in cheapest_points([spot], 3.0, 4.0)] == [pytest.approx(blended.mean, rel=1e-4)]


def test_the_dial_is_of_hardware_that_is_shown_and_has_each_price_once(study: Study) -> None:
    spots = spots_of(study, study.matrix)
    figure = dial_figure(cheapest_points(spots, 3.0, 4.0), "h100", {"h100": 2.99999}, all_variants(spots))
    labels = [step.label for step in figure.layout.sliders[0].steps]
    assert len(labels) == len(set(labels))
    (hardware,) = [one for one in PriceDial(catalogue_of(study)).controls() if one.name == "hardware"]
    assert hardware.default == "h100"


def test_where_no_input_is_known_the_dial_is_of_output_tokens(study: Study) -> None:
    spots = spots_of(study, study.matrix)
    whole = {one.variant: one.tokens for one in cheapest_points(spots, 0.0, 1.0)}
    for run in study.matrix:
        del run.kpis["total_tokens_per_s_per_gpu"]
    assert cheapest_points(spots, 3.0, 4.0) == []
    only = {one.variant: one.tokens for one in cheapest_points(spots, 0.0, 1.0)}
    assert only == whole
    assert max(only.values()) == pytest.approx(2700, rel=0.01)


def test_reliability_counts_runs_and_requests(tmp_path: Path, parsed: Parse) -> None:
    for name, change in (("a", {}), ("b", {"completed": 0, "failed": 200}), ("c", {"failed": 0, "completed": 200})):
        (tmp_path / f"{name}.json").write_text(json.dumps({**POINT, **change}))
    (one,) = reliability(parsed(tmp_path).entries, ["version"])
    assert (one.runs, one.good_runs, one.requests, one.good_requests, one.worst_share) == (3, 2, 600, 398, 1.0)


def test_runs_measured_once_and_other_prompts_are_said(tmp_path: Path, parsed: Parse) -> None:
    sweep(tmp_path, repeats=1)
    (tmp_path / "other.json").write_text(json.dumps({**POINT, "model_id": "other", "tokenizer_id": "other"}))
    study = Study(parsed(tmp_path), load(WORKLOAD))
    assert list(groups_of(study)) == ["model org/model-8b", "model other, input_length 512"]
    assert on_repeats(spots_of(study, study.matrix)).startswith("No point was measured twice")
    assert study.best.kpi is not None
    assert study.best.kpi.name == "output_tokens_per_s_per_gpu"  # nothing has a price


def test_all_pages_begin_with_the_group_of_the_headline_and_name_it(tmp_path: Path, parsed: Parse) -> None:
    tree = tmp_path / "tree"
    for number in range(6):  # the most runs, of which none can be ranked by its cost
        write(tree / "unpriced", f"conc{number}.json", {**POINT, "model_id": "many", "max_concurrency": number + 1})
    for number in (1, 2):
        write(tree / "h100_x1", f"conc{number}.json", {**POINT, "model_id": "priced", "max_concurrency": number})
    options = [f"--workload={WORKLOAD}", f"--results-dirname={tree}", "--price=h100=2"]
    assert main(["visualize", *options, "--generate", f"--report-dest={tmp_path / 'report'}"]) == 0
    for page in ("serving", "prices"):
        shown = (tmp_path / "report" / f"{page}.html").read_text()
        assert "Shown is model priced" in shown
        assert "Nothing has a price" not in shown


def test_a_variant_of_which_nothing_is_known_is_not_called_all() -> None:
    assert label_of({"model": "m"}, ["quantization"]) == "quantization not set"
    assert label_of({"quantization": "fp8"}, ["engine", "quantization"]) == "fp8"


@pytest.mark.parametrize("gpus", ["0", "many", "-1"])
def test_a_number_of_gpus_that_is_none_is_why_there_is_no_cost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], gpus: str
) -> None:
    write(tmp_path / "h100", "conc1.json", POINT)
    (tmp_path / "h100" / "settings.yaml").write_text(f"gpus: {gpus}\n")
    assert main(["parse", f"--workload={WORKLOAD}", f"--results-dirname={tmp_path}", "--price=h100=2"]) == 0
    said = capsys.readouterr().out
    assert f"No run has 1M_output_cost: the setting gpus is {gpus}, which is no number of GPUs." in said


@pytest.mark.parametrize(
    "change", [{}, {"median_tpot_ms": None}, {"output_throughput": None, "total_output_tokens": None}, {"completed": 0}]
)
def test_all_pages_are_written_whatever_is_unknown(tmp_path: Path, change: dict[str, Any]) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "a.json").write_text(json.dumps({**POINT, **change}))
    directories = [f"--results-dirname={tmp_path / 'tree'}", f"--report-dest={tmp_path / 'report'}"]
    status = main(["visualize", f"--workload={WORKLOAD}", "--generate", *directories])
    pages = {path.stem: path.read_text() for path in (tmp_path / "report").glob("*.html")}
    assert {"serving", "prices", "reliability", "best-configuration"} <= set(pages)
    assert not any("went wrong" in page or "Traceback" in page for page in pages.values())
    assert status in (0, 1)


def test_the_offers_of_several_vendors_are_bars_of_their_own(study: Study, tmp_path: Path, parsed: Parse) -> None:
    given = {"near/h100": 3.0, "far/h100": 2.5, "mi300x": 1.5}
    found, prices = with_offers(cheapest_points(spots_of(study, study.matrix), 3.0, 4.0), {}, given)
    labels = [(one.vendor, one.hardware) for one, _ in ranking(found, prices)]
    assert labels.count(("far", "far/h100")) == labels.count(("near", "near/h100")) == 2
    assert ("", "mi300x") in labels
    assert "far" in ranking(found, {**prices, "mi300x": 9.0})[0][0].label
    assert "No price is known" not in dial_conclusion(found, "h100", prices)
    figure = dial_figure(found, "h100", prices, all_variants(spots_of(study, study.matrix)))
    counts = [len(figure.data[0].x), *(len(step.args[0]["x"][0]) for step in figure.layout.sliders[0].steps)]
    assert set(counts[1:]) == {counts[0] + 2}  # a price of one's own, beside those of the vendors
    part = {"H100 80GB": 1.0}
    spots = [dataclasses.replace(one, hardware="NVIDIA H100 80GB") for one in found[:1]]
    assert with_offers(spots, {"NVIDIA H100 80GB": 1.0}, part) == (spots, {"NVIDIA H100 80GB": 1.0})
    (tmp_path / "other").mkdir()
    priced = parsed(sweep(tmp_path / "other"), prices=given, settings_from="{hw_type}/{engine}-{version}")
    entry = next(entry for entry in priced if entry.settings["hw_type"] == "h100")
    assert (entry.results.price, entry.results.usd_per_hour) == ("far/h100", 2.5)  # the cheapest offer, by its name


def test_each_setting_says_its_source_with_its_count(study: Study) -> None:
    rows = {(name, source): (count, values) for name, source, count, values in sources_of(study.matrix)}
    assert rows["hw_type", "--settings-from"] == (27, "h100, mi300x")
    assert rows["concurrency", "the file"][0] == 27
    assert rows["gpus", "settings.yaml"] == (27, "1, 2")
    assert ("version", "a name") not in rows  # a person's pattern says it


def test_files_that_name_no_version_change_no_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, "a.json", POINT)
    assert main(["check", f"--workload={WORKLOAD}", f"--results-dirname={tmp_path}"]) == 0
    assert "version (comparison key)" in " ".join(capsys.readouterr().out.split())


def test_the_prices_stand_beside_the_energy_where_it_was_recorded(study: Study) -> None:
    found = cheapest_points(spots_of(study, study.matrix), 3.0, 4.0)
    for one in found[:1]:
        one.spot.runs[0].kpis["energy_per_output_token"] = 0.25
    shown = str(PriceDial(catalogue_of(study)).table(found, {"h100": 2.0}))
    assert ("energy_per_output_token" in shown, "energy_per_total_token" in shown) == (True, False)
    assert ("0.25" in shown, shown.count("unknown") > 2) == (True, True)
