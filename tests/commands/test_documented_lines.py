"""Command lines as they are written in the documentation, run on real artifacts."""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import shutil
import urllib.request
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
from copies import linked_copy
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from matrix_benchmarking.cli import main

Application = Callable[..., contextlib.AbstractContextManager[str]]
Capture = pytest.CaptureFixture[str]
REPOSITORY = Path(__file__).resolve().parents[2]
DOCUMENTED = [
    line
    for page in ("cli.md", "visualize.md")
    for line in re.findall(r"^    (matbench .*)$", (REPOSITORY / "docs" / page).read_text(encoding="utf-8"), re.M)
    if not line.endswith(" --run")  # half an hour of load; tests/examples runs benchmarks
]
OPENING = [line for line in DOCUMENTED if line.startswith("matbench visualize") and "--generate" not in line]
LINES = [line for line in DOCUMENTED if line not in OPENING]
WORKLOAD = "--workload=projects.encoder_bench.visualizations"


@pytest.fixture(scope="module")
def uploaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory that looks like the checkout, with a history of the sample."""
    place = tmp_path_factory.mktemp("checkout")
    for name in ("data", "projects", "examples"):
        shutil.copytree(REPOSITORY / name, place / name)
    shutil.copy(REPOSITORY / "setup.cfg", place)
    (place / "runs.csv").write_text("image,batch_size,throughput,p95\na,1,100,12\nb,1,90,11\n")
    (place / "reviews.csv").write_text(
        "text\n" + "It is as good as the last one and cheaper than many a better one I had before.\n" * 1000
    )
    upload = ["upload_lts", "--results-dirname=data/samples/encoder_bench", "--workload=encoder_bench"]
    releases = "data/samples/encoder_history/history.jsonl.gz"
    with contextlib.chdir(place):
        assert main(upload) == 0
        assert main(["history", "export", "everything.jsonl.gz"]) == 0
        assert main(["history", "import", releases, "--history=sqlite:///releases.db"]) == 0
    return place


@pytest.fixture
def checkout(directory: Path, uploaded: Path) -> Path:
    """A directory like *uploaded*, in which files may be written."""
    return linked_copy(uploaded, directory)


@pytest.fixture
def study(directory: Path, foreign_samples: Path) -> list[str]:
    """The options that select the encoder-analysis study, of 80 runs."""
    shutil.copytree(foreign_samples / "encoder_analysis", directory / "encoder_analysis")
    shutil.copytree(REPOSITORY / "projects", directory / "projects")
    return ["--results-dirname=encoder_analysis", WORKLOAD]


@pytest.mark.parametrize("line", LINES)
def test_a_documented_line_runs(line: str, checkout: Path) -> None:
    assert main(shlex.split(line)[1:]) == 0


@pytest.mark.parametrize("line", OPENING)
def test_a_documented_line_opens_the_application(line: str, checkout: Path, application: Application) -> None:
    with application(*shlex.split(line)[2:], cwd=checkout) as address, urllib.request.urlopen(address) as answer:
        assert "matbench" in answer.read().decode()


def test_the_cheapest_configuration_of_the_study_is_found(study: list[str], capsys: Capture) -> None:
    assert main(["parse", *study]) == 0
    said = capsys.readouterr().out
    assert all(part in said for part in ("nvidia-l4", "batch_size 32", "vus 256", "409.44"))


def test_the_study_gives_strict_payloads_that_its_schema_accepts(study: list[str]) -> None:
    assert main(["parse", "--output-lts=lts.json", "--pretty=True", *study]) == 0
    assert main(["generate_lts_schema", "--file=schema.json", WORKLOAD]) == 0
    payloads = json.loads(Path("lts.json").read_text(encoding="utf-8"))
    assert len(payloads) == 80
    validator = jsonschema.Draft202012Validator(json.loads(Path("schema.json").read_text(encoding="utf-8")))
    for document in (payloads, *payloads):
        validator.validate(document)


def test_the_study_gives_openmetrics_text(study: list[str], capsys: Capture) -> None:
    assert main(["parse", "--output-openmetrics=-", *study]) == 0
    families = {family.name: family for family in text_string_to_metric_families(capsys.readouterr().out)}
    assert round(min(sample.value for sample in families["_1B_cost_USD"].samples), 2) == 409.44
    assert all(len(family.samples) in (0, 80) for family in families.values())


def test_a_price_option_changes_the_cost(study: list[str], capsys: Capture) -> None:
    assert main(["parse", *study, "--price=aws/nvidia-l4=1.6"]) == 0
    assert "818.87" in capsys.readouterr().out
