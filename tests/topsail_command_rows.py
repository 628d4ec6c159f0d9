"""The rows of docs/coming-from-topsail.md about commands and their configuration, each with its check."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from builders import rate_workload, write_test
from topsail_rows import BENCHMARK, Said, arguments, file_of, of

from matrix_benchmarking.cli import main
from matrix_benchmarking.workload import load


@of("`benchmark`: `common_settings`")
def _(root: Path) -> None:
    (root / "file.yaml").write_text(BENCHMARK)
    assert Said.by("benchmark", "file.yaml", "--results-dirname=tree", "--run", status=1)  # a point fails
    assert [path.parent.name for path in sorted(root.rglob("exit_code"))] == ["x_1_1", "x_2_1"]  # and the third waits
    assert (root / "tree" / "x_1_1" / "000__script" / "stdout.log").read_text() == "1 1\n"


@of("`remote_mode`")
def _(root: Path) -> None:
    (root / "file.yaml").write_text(BENCHMARK)
    Said.by("benchmark", "file.yaml", "--results-dirname=tree", "--generate=points.yaml")
    assert (root / "points.yaml").read_text().count('"command": ["sh", "-c"') == 3


@of("`parse`, `visualize --generate`")
def _(root: Path) -> None:
    run = arguments(root)
    Said.by("parse", *run)
    Said.by("visualize", *run, "--generate=report: Best configuration")
    Said.by("generate_lts_schema", run[0], "--file=schema.json")
    Said.by("upload-lts", *run, "--history=sqlite:///h.db")
    Said.by("download_lts", run[0], "--lts-results-dirname=lts", "--history=sqlite:///h.db")
    assert len([*Path("lts").glob("*.json")]) == 3
    Said.by("analyze_lts", run[0], "--history=sqlite:///h.db", "--kpi-filter=rate")


@of("`--filters=expe=a:b")
def _(root: Path) -> None:
    run = [*arguments(root), "--output-matrix=-"]
    assert Said.by("parse", *run, "--filters=version=1.0:1.2").count('"location"') == 2
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MATBENCH_FILTERS", "version=1.0")
        assert Said.by("parse", *run).count('"location"') == 1


@of("`download --url --url_file")
def _(root: Path) -> None:
    file_of(root)
    (root / "urls.yaml").write_text(f"download: [{{url: '{root / 'tree'}', dest_dir: night, settings: {{}}}}]")
    Said.by("download", "--url-file=urls.yaml", "--results-dirname=here", "--mode=all")
    assert len([*(root / "here" / "night").rglob("rate.json")]) == 3


@of("`parse --clean`")
def _(root: Path) -> None:
    run = arguments(root)
    (root / "tree" / "1.0" / "exit_code").write_text("1")
    assert "1 × failed" in Said.by("parse", *run)
    assert (root / "tree" / "1.0").is_dir()


@of("Keys of `config.yaml`")
def _(root: Path) -> None:
    for block in ({"workloads": "x"}, {"lts": {"generate": "yes, please"}}):
        (root / "config.yaml").write_text(yaml.safe_dump({"matbench": block}))
        assert re.search("workloads|generate", Said.by("parse", *arguments(root), status=2))


@of("`COMPARISON_KEYS`")
def _(root: Path) -> None:
    assert list(load(str(file_of(root))).regression.comparison_keys) == ["version"]


@of("`--opensearch-password`")
def _(root: Path) -> None:
    assert "--opensearch-password" in Said.by("upload_lts", *arguments(root), "--opensearch-password=x", status=2)


@of("`--upload-by-kpi`")
def _(root: Path) -> None:
    assert "3 runs added" in Said.by("upload_lts", *arguments(root), "--upload-by-kpi", "--history=sqlite:///h.db")


@of("One request a document")
def _(root: Path) -> None:
    told = Said.by("upload_lts", *arguments(root), "--history=http://127.0.0.1:9/runs", status=2)
    assert "3" in told and "matbench history flush" in told
    assert list((root / "state").rglob("*"))


@of("The same run twice")
def _(root: Path) -> None:
    upload = ["upload_lts", *arguments(root), "--history=sqlite:///h.db"]
    assert "3 runs added" in Said.by(*upload)
    assert "3 there already" in Said.by(*upload)
    for test in (root / "tree").glob("1.*"):
        (test / ".uuid").write_text("6ba7b810-9dad-41d1-80b4-00c04fd430c" + test.name[-1])
    assert "3 runs added" in Said.by(*upload)
    (root / "tree" / "1.0" / "rate.json").write_text("3.0")
    assert "1.0" in Said.by(*upload, status=1)
    assert "replaced" in Said.by(*upload, "--replace")


@of("`enabled_on_replot`")
def _(root: Path) -> None:
    Said.by("parse", *arguments(root), "--output-lts=lts/all.json")
    replot = ["parse", "--workload=rates.py", "--lts-results-dirname=lts"]
    for wanted in (False, True):
        export = {"export": {"enabled": True, "enabled_on_replot": wanted}}
        block = {"history": "sqlite:///h.db", "lts": {"opensearch": export}}
        (root / "config.yaml").write_text(yaml.safe_dump({"matbench": block}))
        Said.by(*replot)
        assert (root / "h.db").exists() is wanted


@of("Exceptions and log lines")
def _(root: Path) -> None:
    assert len(Said.by("parse", "--workload=nobody", "--results-dirname=none", status=2).splitlines()) == 1


@of("`analyze_lts` compares with the last runs")
def _(root: Path) -> None:
    judged = worse(root)
    assert "worse" in judged
    told = Said.by("alarms", "--history=sqlite:///h.db", "--workload=slower.py")
    alarm = re.search(r"\b[0-9a-f]{8,}\b", told)
    assert alarm, told
    Said.by("alarms", "ack", alarm[0], "--reason=known", "--history=sqlite:///h.db")
    assert main(["analyze_lts", "--history=sqlite:///h.db", "--workload=slower.py"]) == 0


@of("Its exit status counts")
def _(root: Path) -> None:
    worse(root)
    assert yaml.safe_load((root / "summary.yaml").read_text())


def worse(root: Path) -> str:
    """What is said of a history whose last four versions are slower."""
    (root / "slower.py").write_text(rate_workload("slower", "version"))
    for number in range(20):
        for repeat in range(3):
            rate = (100 if number < 16 else 50) + repeat + number % 2
            files = {"rate.json": str(rate), "note": f"{number} {repeat}"}
            settings = {"version": f"1.{number}", "campaign": f"{number}"}
            write_test(root / "slow" / f"{number}_{repeat}", {"version": settings["version"]}, files=files)
    history = ["--workload=slower.py", "--history=sqlite:///h.db"]
    Said.by("upload_lts", *history, "--results-dirname=slow")
    return Said.by("analyze_lts", *history, "--summary-yaml-dest=summary.yaml", status=1)
