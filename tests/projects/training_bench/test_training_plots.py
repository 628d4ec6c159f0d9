"""The plots of training_bench: their data, their sentences, and text that comes from names."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import pytest
import yaml
from training_trees import epochs, log, write_native, write_public

from matrix_benchmarking import store
from matrix_benchmarking.analyze.study import Given, Study
from matrix_benchmarking.analyze.verdict.model import Outcome
from matrix_benchmarking.analyze.verdict.sides import Question, RunBlocks
from matrix_benchmarking.analyze.wording import ranking
from matrix_benchmarking.cli import main
from matrix_benchmarking.matrix import Matrix
from matrix_benchmarking.plotting import set_config, template
from matrix_benchmarking.plotting.catalogue import catalogue_of
from matrix_benchmarking.workload import load
from projects.training_bench.visualizations.plotting import bars, cases, curves, verdicts

HOSTILE = "<b>&bold"


@pytest.fixture
def workload():
    return load("projects.training_bench.visualizations")


@pytest.fixture
def published(tmp_path: Path, workload) -> Matrix:
    """The published epoch durations as a tree of the public layout; the GPU is busy for some of each epoch."""
    every = yaml.safe_load(Path(__file__).with_name("published_epochs.yaml").read_text(encoding="utf-8"))
    busy = {"original": 0.3, "blosc": 0.35, "fp16": 0.4, "gpu-aug": 0.73, "ring-buffer": 0.9}
    for speed, strategies in every.items():
        for strategy, repetitions in strategies.items():
            for repetition, seconds in enumerate(repetitions):
                content = log(3 * seconds, gpu=lambda moment, strategy=strategy: busy[strategy])
                name = f"2023-02-08_14-48-02_benchmarking_{strategy}_{repetition}_{speed}"
                write_public(tmp_path / "runs", name, epochs([seconds] * 3), content)
    return store.parse_tree(workload, tmp_path / "runs")


def asked(matrix: Matrix) -> Question:
    return Question("a test", RunBlocks(lambda: matrix.entries))


def plot(matrix: Matrix, workload: Any, name: str, **cfg: Any) -> tuple[Any, Any]:
    catalogue = catalogue_of(Study(matrix, workload))
    return catalogue.plot(name).do_plot(*set_config(cfg, catalogue.arguments()))


def sentences(text: Any) -> str:
    return " ".join(part for part in text if isinstance(part, str)) if isinstance(text, list) else text


def test_a_repeat_that_lacks_what_a_plot_shows_is_counted_though_its_case_is_shown(published, workload):
    for kpi in ("gpu_load", "data_wait"):
        for run in published.entries:
            run.kpis[kpi] = 0.5
        found = cases.cases_of(published.entries, ["strategy"])
        del found[0].runs[0].kpis[kpi]
        (said,) = cases.left_out(published.entries, cases.having(found, kpi), kpi)
        assert said == f"1 of {len(published.entries)} runs is not shown: 1 without {kpi}."
    assert cases.left_out(published.entries, found, "an I/O speed") == cases.left_out(published.entries, found) == []


def test_the_published_speed_ups_come_out(published, workload):
    found = verdicts.speed_ups(published, workload, "original", workload.kpis["epoch_duration"], asked(published))
    ratios = {(one.strategy, one.settings["io_speed"]): one for one in found}
    assert round(ratios["ring-buffer", "unlimited"].ratio, 2) == 2.41
    assert round(ratios["ring-buffer", 1000].ratio, 2) == 3.56
    for one in found:
        # Which were measured in one round is not known: what is more than a mood of the machine is suspected.
        assert one.interval is None
        is_more = not 1 / 1.45 < one.ratio < 1.45
        assert one.outcome is (Outcome.SUSPECTED if is_more else Outcome.CANT_TELL)
        assert len(one.runs) == 3
    assert [one.settings["io_speed"] for one in found] == [1000] * 4 + ["unlimited"] * 4


def test_the_reference_is_the_plain_or_original_strategy_unless_another_is_chosen(published, workload):
    _, text = plot(published, workload, "Speed-up against a reference")
    assert "1000 MB/s: ring-buffer is 3.56 times as fast as original (suspected: better)." in sentences(text)
    in_rounds = [dataclasses.replace(one, campaign="a night", round=one.repeat + 1) for one in published]
    _, text = plot(Matrix(in_rounds), workload, "Speed-up against a reference", reference="ring-buffer")
    assert "worse than it: gpu-aug, fp16, blosc, original" in sentences(text)
    table = next(part for part in text if not isinstance(part, str))
    assert len(table.rows) == 8


def test_the_bars_are_means_over_repetitions_with_their_standard_deviation(published, workload):
    found = cases.cases_of(published, cases.label_names(published))
    frame = bars.bars_frame(found, workload.kpis["epoch_duration"])
    first = frame.iloc[0]
    assert (first["strategy"], first["I/O speed"]) == ("original", "1000 MB/s")
    assert first["mean"] == pytest.approx(92.714919, abs=1e-5)
    assert first["deviation"] == pytest.approx(0.411326, abs=1e-5)
    assert list(dict.fromkeys(frame["strategy"])) == ["original", "blosc", "fp16", "gpu-aug", "ring-buffer"]
    figure, text = plot(published, workload, "Epoch duration")
    assert [trace.name for trace in figure.data] == ["1000 MB/s", "unlimited"]
    assert [one.split(" (3 runs")[0] for one in text] == [
        "For io_speed 1000: Lowest epoch_duration: ring-buffer: 26.02 s",
        "For io_speed unlimited: Lowest epoch_duration: ring-buffer: 24.28 s",
    ]
    assert text == [str(one) for one in ranking.verdict(catalogue_of(Study(published, workload)).study.best)]


def test_what_limits_the_published_runs_is_concluded_without_a_record_of_the_loop(published, workload):
    found = verdicts.conclusions(cases.cases_of(published, ["strategy"]), workload, asked(published))
    limit = {(case.label, case.speed): concluded.limit.value for case, concluded in found}
    assert limit["original", "1000 MB/s"] == "I/O"
    assert limit["blosc", "1000 MB/s"] == "I/O"
    assert limit["fp16", "1000 MB/s"] == "CPU decoding"
    assert limit["original", "unlimited"] == "I/O or CPU decoding"
    assert limit["ring-buffer", "1000 MB/s"] == limit["ring-buffer", "unlimited"] == "GPU"


def test_a_curve_is_over_all_epochs_of_all_repetitions(tmp_path, workload):
    for repeat in range(2):
        busy = 0.4 + 0.2 * repeat
        content = log(40, gpu=lambda moment, busy=busy: busy)
        settings = {"strategy": "plain", "io_speed": 50, "repeat": repeat}
        write_native(tmp_path / str(repeat), settings, epochs([10.0] * 4), content)
    matrix = store.parse_tree(workload, tmp_path)
    (case,) = cases.cases_of(matrix, ["strategy"])
    curve = curves.load_curve(case, bars.device_of(matrix))
    assert curve is not None
    assert (curve.epochs, curve.runs, len(curve.mean)) == (4, 2, 101)
    assert curve.mean == pytest.approx([0.5] * 101)
    assert curve.deviation == pytest.approx([0.2 / 3**0.5] * 101)
    figure, text = plot(matrix, workload, "Load over an epoch")
    assert figure.layout.yaxis.title.text == "GPU load"
    assert "4 epochs of 2 runs" in sentences(text)
    assert "CPU" not in sentences(text)


def test_a_person_chooses_over_how_many_samples_a_curve_is_smoothed(tmp_path, workload):
    content = log(40, gpu=lambda moment: float(int(moment) % 2))
    write_native(tmp_path / "a", {"strategy": "plain", "io_speed": 50}, epochs([10.0] * 4), content)
    matrix = store.parse_tree(workload, tmp_path)

    def spread(**cfg):
        figure, _ = plot(matrix, workload, "Load over an epoch", **cfg)
        (line,) = (trace for trace in figure.data if trace.customdata is not None)
        return max(line.y) - min(line.y)

    assert spread(window=1) > 0.9
    assert spread(window=1) > spread() > spread(window=10)
    _, said = plot(matrix, workload, "Load over an epoch", window=90)
    assert "No run has a log of the load over a whole epoch of 90 samples or more." in sentences(said)


def test_without_a_gpu_the_load_of_the_cpu_takes_its_place_and_every_text_says_so(tmp_path, workload):
    write_native(tmp_path / "a", {"strategy": "plain", "io_speed": 50}, epochs([10.0] * 4), log(40))
    matrix = store.parse_tree(workload, tmp_path)
    for name in ("Load over an epoch", "Load of the computing device"):
        figure, text = plot(matrix, workload, name)
        assert figure.layout.yaxis.title.text == "CPU load"
        assert "No GPU was measured in use, so its load is unknown" in sentences(text)


def test_the_cpu_load_of_the_training_alone_is_preferred_to_that_of_the_machine(tmp_path, workload):
    content = log(40, cpu=lambda moment: 0.9)
    content["processes"] = {"script": [0.5] * len(content["time"])}
    write_native(tmp_path / "a", {"strategy": "plain", "io_speed": 50}, epochs([10.0] * 4), content)
    matrix = store.parse_tree(workload, tmp_path)
    figure, text = plot(matrix, workload, "Load over an epoch")
    assert figure.layout.yaxis.title.text == "CPU load of the training"
    assert figure.data[1].y[50] == pytest.approx(0.25)
    assert "by the training's own process" in sentences(text)


def test_a_gpu_that_a_training_on_the_cpu_did_not_use_is_not_what_limits_it(tmp_path, workload):
    rows, content = epochs([10.0] * 4, wait_s=[0.1] * 4), log(40, gpu=lambda moment: 0.0)
    write_native(tmp_path / "a", {"strategy": "plain", "io_speed": 50}, rows, content, device="cpu")
    matrix = store.parse_tree(workload, tmp_path)
    ((_, concluded),) = verdicts.conclusions(cases.cases_of(matrix, ["strategy"]), workload, asked(matrix))
    assert concluded.limit.value == "compute (CPU)"
    figure, _ = plot(matrix, workload, "Load over an epoch")
    assert figure.layout.yaxis.title.text == "CPU load"


def lines(figure: Any) -> dict[str, str]:
    """The colour of each line with a name in the legend, in its order."""
    return {trace.name: trace.line.color for trace in figure.data if trace.showlegend and trace.mode == "lines"}


def drawn(published: Matrix, workload: Any, option: str = "", **selected: Any) -> tuple[Study, Any, Any]:
    """What *Load over an epoch* and *Epoch duration* give, with the option ``strategies``, of a selection."""
    shown = Matrix([run for run in published if selected.items() <= run.settings.items()])
    study = Study(shown, workload, read=published, given=Given(options={"strategies": option}))
    catalogue = catalogue_of(study)
    load, duration = (
        catalogue.plot(name).do_plot(*catalogue.arguments()) for name in ("Load over an epoch", "Epoch duration")
    )
    return study, load, duration


def test_a_strategy_has_its_colour_whatever_is_selected(published, workload):
    _, (figure, _), _ = drawn(published, workload)
    assert list(lines(figure)) == ["original", "blosc", "fp16", "gpu-aug", "ring-buffer"]  # the slowest first
    assert list(lines(figure).values()) == list(template.COLOURS[:5])
    _, (one, _), _ = drawn(published, workload, strategy="fp16")
    assert lines(one) == {"fp16": lines(figure)["fp16"]}


def test_a_person_chooses_the_order_and_colours_of_strategies(published, workload):
    option = f"ring-buffer: fp16={template.COLOURS[0].upper()}:original=#112233"
    study, (figure, _), (bar, said) = drawn(published, workload, option)
    first, second, *_ = template.COLOURS[1:]
    assert list(lines(figure).items())[:3] == [
        ("ring-buffer", first), ("fp16", template.COLOURS[0].upper()), ("original", "#112233"),
    ]  # fmt: skip
    assert lines(figure)["blosc"] == second
    assert len({*map(str.lower, lines(figure).values())}) == 5
    assert list(dict.fromkeys(bar.layout.xaxis.categoryarray)) == list(lines(figure))
    assert "strategies" not in sentences(said)
    assert cases.not_understood(study) == []


def test_a_strategy_that_no_run_has_and_a_colour_that_is_none_are_said(published, workload):
    _, (figure, said), (_, also) = drawn(published, workload, "ringbuffer:fp16=red::")
    wanted = "strategies: no run has 'ringbuffer' (did you mean 'ring-buffer'?). strategies: 'red' is no colour such as"
    assert wanted in sentences(said)
    assert wanted in sentences(also)
    assert next(iter(lines(figure))) == "fp16"


def test_the_option_reaches_written_pages(published, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = ["--workload=training_bench", "--results-dirname=runs", "--generate=Load over an epoch"]
    assert main(["visualize", *told, "--workload-option=strategies=fp16=#abcdef"]) == 0
    assert "#abcdef" in Path("report/load-over-an-epoch.html").read_text()
    Path("config.yaml").write_text("matbench: {workload_options: {strategies: 'fp16=#fedcba'}}")
    assert main(["visualize", *told]) == 0
    assert "#fedcba" in Path("report/load-over-an-epoch.html").read_text()


def test_epochs_that_are_not_drawn_are_counted(tmp_path, workload):
    write_native(tmp_path / "a", {"strategy": "plain", "io_speed": 50}, epochs([10.0] * 5), log(35, lambda moment: 0.5))
    _, text = plot(store.parse_tree(workload, tmp_path), workload, "Load over an epoch")
    assert "1 epoch of 1 run is in these lines. 2 of 3 epochs are not used" in sentences(text)


def test_waiting_and_computing_add_up_to_the_epoch(tmp_path, workload):
    rows = epochs([9.0, 9.0, 4.0, 4.0], wait_s=[8.0, 8.0, 3.0, 3.0])
    write_native(tmp_path / "a", {"strategy": "plain", "io_speed": 50}, rows, log(26))
    frame = bars.parts_frame(cases.cases_of(store.parse_tree(workload, tmp_path), ["strategy"]))
    assert dict(zip(frame["part"], frame["seconds"], strict=True)) == {"computing": 1.0, "waiting for data": 3.0}


def test_the_share_of_waiting_is_that_of_the_kpi_on_every_page(tmp_path, workload):
    """Half and a tenth are .3 in the mean of the KPI, and not the .26 of all seconds together."""
    for run, (epoch, waited) in enumerate(((10.0, 1.0), (6.0, 3.0))):
        written = epochs([epoch] * 4, wait_s=[waited] * 4)
        write_native(tmp_path / f"run_{run}", {"strategy": "plain", "repeat": run}, written, log(50))
    (case,) = cases.cases_of(store.parse_tree(workload, tmp_path), ["strategy"])
    waiting = bars.parts_frame([case]).set_index("part")["seconds"]
    assert waiting["waiting for data"] / waiting.sum() == pytest.approx(0.3)
    assert verdicts.measured(case).data_wait == pytest.approx(0.3)


@pytest.mark.parametrize("empty", [True, False])
def test_a_matrix_without_anything_to_draw_says_so(tmp_path, workload, empty):
    write_native(tmp_path / "a", {"strategy": "plain"}, epochs([1.0] * (1 if empty else 4)), {"time": []})
    matrix = store.parse_tree(workload, tmp_path)
    for name in catalogue_of(Study(matrix, workload)).plots:
        if name != "KPI history":
            _, text = plot(matrix, workload, name)
            assert sentences(text)


def test_text_of_settings_is_never_markup(tmp_path, workload):
    for strategy in ("plain", HOSTILE):
        directory = tmp_path / f"run-{len(strategy)}"
        rows = epochs([9.0] * 4, wait_s=[1.0] * 4)
        write_native(directory, {"strategy": strategy, "io_speed": HOSTILE}, rows, log(36, lambda moment: 0.5))
    matrix = store.parse_tree(workload, tmp_path)
    for name in (
        "Epoch duration",
        "What an epoch's time goes to",
        "Load over an epoch",
        "Load of the computing device",
    ):
        figure, _ = plot(matrix, workload, name)
        figure = go.Figure(figure.to_dict())  # which plotly checks
        assert HOSTILE not in figure.to_json().replace("\\u003c", "<").replace("\\u003e", ">").replace("\\u0026", "&")
