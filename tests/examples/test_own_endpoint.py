"""docs/benchmarking.md's first chapter, as it is written there, on a server that is already running."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
import yaml
from benchmark_support.encoder_stub import EncoderStub, always, embeddings
from requirements import missing

from matrix_benchmarking.cli import main
from projects.encoder_bench import k6

pytestmark = pytest.mark.xdist_group("load")


@pytest.fixture
def chapter(repository, tmp_path, monkeypatch) -> str:
    """The page, with an empty current directory that has the texts."""
    try:
        k6.find_k6()
    except k6.K6Error as error:
        missing(str(error))
    monkeypatch.chdir(tmp_path)
    shutil.copy(repository / "examples" / "encoder_server" / "texts.txt", tmp_path / "texts.txt")
    return (repository / "docs" / "benchmarking.md").read_text(encoding="utf-8")


def write_file(chapter: str, url: str, **changes: object) -> None:
    """The chapter's file, at the stub's address and shorter, with *changes* of its load."""
    content = yaml.safe_load(re.search(r"```yaml\n(.*?)```", chapter, re.S)[1])
    content["target"]["url"] = url
    content["load"] |= {"duration_s": 1.0, "warm_up_s": 0} | changes
    content["expe"]["endpoint"] |= {"vus": [1, 4], "repeat": 2}
    Path("mine.yaml").write_text(yaml.safe_dump(content))


def test_the_way_from_a_url_to_the_best_configuration_is_as_written(chapter, capsys):
    lines = re.search(r"```sh\n(.*?)```", chapter, re.S)[1].strip().splitlines()
    assert len(lines) == 4
    with EncoderStub(embeddings, delay_s=0.01) as stub:
        write_file(chapter, stub.url)
        for line in lines:
            assert main(shlex.split(line)[1:]) == 0, line
    out = capsys.readouterr().out
    assert "4 of 4 points to run" in out
    assert "Cheapest by 1B_cost: vus 4" in out
    assert "matbench benchmark mine.yaml" in Path("report/best-configuration.html").read_text()
    assert json.loads(next(Path("results").glob("**/server.json")).read_text())["kind"] == "url"


def test_a_server_that_answers_500_to_all_makes_failed_points_with_a_sentence(chapter, capsys):
    with EncoderStub(always(500, "out of memory")) as stub:
        write_file(chapter, stub.url, requests=5)
        assert main(["benchmark", "mine.yaml", "--run"]) == 1
    err = capsys.readouterr().err
    assert "none of 5 requests was answered right" in err
    assert "4 points failed" in err


def test_a_server_that_is_not_there_could_not_be_started(chapter, capsys):
    write_file(chapter, "http://127.0.0.1:9")
    assert main(["benchmark", "mine.yaml", "--run"]) == 2
    err = capsys.readouterr().err
    assert "http://127.0.0.1:9 can't be reached" in err
    assert not list(Path("results").glob("**/exit_code"))


def test_inputs_that_are_not_there_are_said_before_anything_starts(chapter, capsys):
    write_file(chapter, "http://127.0.0.1:9", inputs="absent.txt")
    assert main(["benchmark", "mine.yaml", "--run"]) == 2
    assert "absent.txt can't be read" in capsys.readouterr().err


def test_a_search_measures_until_it_can_answer_and_goes_on_where_it_was(chapter, capsys):
    with EncoderStub(embeddings, delay_s=0.05) as stub:
        write_file(chapter, stub.url)
        content = yaml.safe_load(Path("mine.yaml").read_text())
        content["expe"] = {"saturation": {"vus": {"search": {"start": 1, "max": 4, "max_measurements": 6}}}}
        Path("mine.yaml").write_text(yaml.safe_dump(content))
        assert main(["benchmark", "mine.yaml", "--run"]) == 0
        (found,) = json.loads(Path("results/mine/searches.json").read_text())["searches"]
        runs = list(Path("results/mine").glob("**/exit_code"))
        assert main(["benchmark", "mine.yaml", "--run"]) == 0
    assert found["vus"] == 4
    assert found["at_maximum"]
    assert list(Path("results/mine").glob("**/exit_code")) == runs
    assert "search" in capsys.readouterr().out


def test_each_of_several_inputs_has_its_reference(chapter, capsys):
    for name in ("short", "long"):
        Path(f"{name}.txt").write_text(f"a {name} text\nanother {name} one\n")
    with EncoderStub(embeddings, delay_s=0.01) as stub:
        write_file(chapter, stub.url, inputs="{texts}.txt", requests=5)
        content = yaml.safe_load(Path("mine.yaml").read_text())
        content["expe"] = {"texts": {"texts": ["short", "long"], "vus": 1}}
        content["answers"] = {"reference": {"settings": {"image": "exact"}}}
        Path("mine.yaml").write_text(yaml.safe_dump(content))
        assert main(["benchmark", "mine.yaml", "--run"]) == 0, capsys.readouterr().err
    assert len(list(Path("results/mine").glob("**/references/*.json"))) == 2
    found = [json.loads(path.read_text()) for path in Path("results/mine").glob("**/fidelity.json")]
    assert [(one["count"], one["minimum"]) for one in found] == [(2, 1.0)] * 2
