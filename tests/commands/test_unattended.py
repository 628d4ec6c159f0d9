"""The ``matbench.lts`` block: what happens by itself after a parse."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from history_support.fake_horreum import FakeHorreum

from matrix_benchmarking.cli import main

Capture = pytest.CaptureFixture[str]
Parse = Callable[..., int]


@pytest.fixture(autouse=True)
def state(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(directory / "state"))


def configure(lts: object, **others: object) -> None:
    Path("config.yaml").write_text(yaml.safe_dump({"matbench": {"lts": lts, **others}}))


EXPORT = {"opensearch": {"export": {"enabled": True}}}


def test_without_the_block_a_parse_keeps_nothing(parse: Parse) -> None:
    assert parse() == 0
    assert not list(Path().glob("*.db"))


def test_an_export_goes_to_the_configured_history_and_is_said_on_stderr(parse: Parse, capsys: Capture) -> None:
    configure(EXPORT, history="sqlite:///kept.db")
    assert parse("--output-matrix=-") == 0
    said = capsys.readouterr()
    assert "sqlite:///kept.db: 3 runs added" in said.err
    assert len(json.loads(said.out)) == 3
    assert parse() == 0
    assert "3 there already" in capsys.readouterr().err


def test_generate_false_switches_it_off(parse: Parse) -> None:
    configure({"generate": False, "horreum": {"test_name": "t"}, **EXPORT}, history="sqlite:///kept.db")
    assert parse() == 0
    assert not Path("kept.db").exists()


def test_an_export_without_a_place_is_an_error_that_says_what_to_set(parse: Parse, capsys: Capture) -> None:
    configure(EXPORT)
    assert parse() == 2
    assert "set matbench.lts.opensearch.instance or matbench.history" in capsys.readouterr().err


def test_payloads_that_are_read_again_are_exported_only_if_that_is_wanted(parse: Parse, capsys: Capture) -> None:
    assert parse("--output-lts=lts/all.json") == 0
    replot = ["parse", "--workload=tiny.py", "--lts-results-dirname=lts"]
    configure(EXPORT, history="sqlite:///kept.db")
    assert main(replot) == 0
    assert not Path("kept.db").exists()
    configure({"opensearch": {"export": {"enabled": True, "enabled_on_replot": True}}}, history="sqlite:///kept.db")
    assert main(replot) == 0
    assert "3 runs added" in capsys.readouterr().err


def test_downloaded_results_are_exported_only_if_that_is_wanted(capsys: Capture) -> None:
    assert main(["download", "--url=results", "--results-dirname=here", "--mode=all"]) == 0
    replot = ["parse", "--workload=tiny.py", "--results-dirname=here"]
    configure(EXPORT, history="sqlite:///kept.db")
    assert main(replot) == 0
    assert not Path("kept.db").exists()
    configure({"opensearch": {"export": {"enabled": True, "enabled_on_replot": True}}}, history="sqlite:///kept.db")
    assert main(replot) == 0
    assert "3 runs added" in capsys.readouterr().err


@pytest.mark.parametrize(("fails", "status"), [(True, 2), (False, 0)])
def test_a_failing_export_fails_the_test_if_that_is_wanted(
    parse: Parse, fails: bool, status: int, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure({"opensearch": {"export": {"enabled": True, "fail_test_on_fail": fails}, "instance": "smoke-test"}})
    monkeypatch.setenv("MATBENCH_OPENSEARCH_SMOKE_TEST_URL", "http://127.0.0.1:9")
    assert parse() == status
    said = capsys.readouterr().err
    assert "3 runs wait in the outbox" in said
    assert ("warning: the export failed" in said) is not fails


def test_invalid_payloads_fail_the_test_and_nothing_is_kept(
    parse: Parse, new_test: Callable[..., Path], capsys: Capture
) -> None:
    new_test(Path("results/run_4"), batch_size=4, rate=None)
    configure(EXPORT, history="sqlite:///kept.db")
    assert parse() == 0  # an unknown KPI is no problem of the tiny workload
    (new_test(Path("results/run_5"), batch_size=5, rate=1.0) / "rate.json").write_text("")
    assert parse() == 1
    assert "  run_5: rate.json: is empty" in capsys.readouterr().err


@pytest.mark.parametrize("labels", ["labels.", ""])
@pytest.mark.xdist_group("opensearch")
def test_payloads_and_kpis_go_to_the_named_indices_of_the_instance(
    opensearch, labels: str, parse: Parse, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    from opensearchpy import OpenSearch

    names = {"index": "unattended", "index_prefix": "perf-", "prom_index_suffix": "-kpis"}
    names |= {} if labels == "labels." else {"index": "flat", "kpi_labels": "flat"}
    configure({"opensearch": {"export": {"enabled": True}, "instance": "smoke", **names}}, history="sqlite:///no.db")
    monkeypatch.setenv("MATBENCH_OPENSEARCH_SMOKE_URL", opensearch.url)
    assert parse() == 0
    index = f"perf-{names['index']}"
    assert f"{opensearch.url}/{index}: 3 runs added" in capsys.readouterr().err
    assert not Path("no.db").exists()
    with OpenSearch([opensearch.url]) as client:
        assert client.count(index=index)["count"] == 3
        assert client.count(index=f"{index}-kpis")["count"] == 3
        hits = client.search(index=f"{index}-kpis", body={"query": {"term": {f"{labels}batch_size": "2"}}})
    (hit,) = hits["hits"]["hits"]
    assert (hit["_source"]["kpi"], hit["_source"]["value"], hit["_source"]["unit"]) == ("rate", 3.0, "1/s")


def test_payloads_are_posted_to_horreum_once(parse: Parse, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    for number in (1, 2, 3):  # Horreum wants to know when
        path = Path(f"results/run_{number}/rate.json")
        path.write_text(json.dumps({"rate": 1.0, "end": f"2026-03-01T12:0{number}:00+00:00"}))
    text = Path("tiny.py").read_text()
    Path("tiny.py").write_text(
        text.replace(
            "    results.prices", '    results.end = read_json(test_dir / "rate.json")["end"]\n    results.prices'
        )
    )
    configure({"horreum": {"test_name": "tiny test"}})
    with FakeHorreum() as fake:
        monkeypatch.setenv("MATBENCH_HORREUM_URL", fake.url)
        monkeypatch.setenv("MATBENCH_HORREUM_API_KEY", "HUSR_secret")
        assert parse() == 0
        assert f"{fake.url}, test 'tiny test': 3 runs added" in capsys.readouterr().err
        assert parse() == 0
        assert "3 there already" in capsys.readouterr().err
        assert len(fake.runs) == 3
        assert {query["test"] for query, _ in fake.runs} == {"tiny test"}


def test_horreum_without_a_server_says_what_to_set(parse: Parse, capsys: Capture) -> None:
    configure({"horreum": {"test_name": "t"}})
    assert parse() == 2
    assert "set MATBENCH_HORREUM_URL" in capsys.readouterr().err


def test_what_goes_wrong_with_one_keeps_none_of_the_others_from_being_done(parse: Parse, capsys: Capture) -> None:
    export = {"opensearch": {"export": {"enabled": True}}, "regression_analyses": {"enabled": True}}
    configure({**export, "horreum": {"test_name": "tiny"}}, history="sqlite:///kept.db")
    assert parse() == 2
    said = capsys.readouterr().err
    assert "3 runs added" in said
    assert "the Horreum server is not known" in said
    assert "can't be told: the newest runs against their history" in said


def test_the_analysis_is_of_what_the_filters_leave(parse: Parse, capsys: Capture) -> None:
    text = Path("tiny.py").read_text().replace("Workload(name", "Workload(regression=KEYS, name")
    keys = (
        "from matrix_benchmarking.workload import RegressionKeys\nKEYS = RegressionKeys(comparison_keys=['hw_type'])\n"
    )
    Path("tiny.py").write_text(keys + text)
    configure(EXPORT, history="sqlite:///kept.db")
    assert parse() == 0
    configure({"regression_analyses": {"enabled": True}, **EXPORT}, history="sqlite:///kept.db")
    capsys.readouterr()
    parse()
    everything = capsys.readouterr().err
    parse("--filters=batch_size=2")
    some = capsys.readouterr().err
    assert "3 series" in everything
    assert "1 series" in some
