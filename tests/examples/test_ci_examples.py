"""The example pipelines, executed as far as a shell can: on recorded runs, with a real history and a real git.

Not executed: what the services do themselves (``uses:``, caches, artifacts), the installation, and the measurement, in
whose place recorded runs are copied; the benchmark file that it would take is planned.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from matrix_benchmarking.cli import main

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "ci"
VERSIONS = [f"1.0.{number}" for number in range(1, 13)]
FASTER, SLOWER = "onnx-int8", "onnx-fp32"
RUNS = ("vus_8__repeat_0", "vus_8__repeat_1", "vus_8__repeat_2")
REPLACED = {
    r"^pip install .*$": ": installed already",
    r"^(matbench benchmark .*) --run( \|\| .*)?$": (
        r"{ \1 | grep 'Nothing was started'; cp -r ../measured results; (exit $BENCHMARK_STATUS); }\2"
    ),
}
GH = '#!/bin/sh\nprintf "%s\\n" "$@" > ../gh_arguments\n'


def record(sample: Path, directory: Path, version: str, measured: str) -> None:
    """Runs of the image *measured*, as those of the faster image at *version*."""
    for name in RUNS:
        run = directory / version / name
        shutil.copytree(sample / "cpu-1" / measured / "batch_8" / name, run)
        (run / ".uuid").unlink()  # another run, which gets an id of its content
        settings = yaml.safe_load((run / "settings.yaml").read_text())
        (run / "settings.yaml").write_text(yaml.safe_dump({**settings, "version": version, "image": FASTER}))


@dataclasses.dataclass(frozen=True)
class Checkout:
    """A repository with a benchmark, beside the runs that its build would give."""

    directory: Path
    sample: Path
    matbench: Path
    benchmark_status: int = 0

    @property
    def history(self) -> str:
        return f"sqlite:///{self.directory / 'history.db'}"

    def measured(self, image: str, version: str = "1.1.0") -> None:
        record(self.sample, self.directory.parent / "measured", version, image)

    def one_is_broken(self, run: str, *, exit_code: int) -> Checkout:
        """One of the measured runs was cut off, which it says itself unless its *exit_code* is 0."""
        (directory,) = (self.directory.parent / "measured").glob(f"*/{run}")
        (directory / "exit_code").write_text(f"{exit_code}\n")
        (directory / "002__k6__run" / "summary.json").write_text('{"metrics": ')
        return dataclasses.replace(self, benchmark_status=1 if exit_code else 0)

    def run(self, script: str, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        for pattern, replacement in REPLACED.items():
            script = re.sub(pattern, replacement, script, flags=re.MULTILINE)
        path = os.pathsep.join(
            [
                str(self.directory.parent / "bin"),
                str(self.matbench),
                str(Path(sys.executable).parent),
                os.environ["PATH"],
            ]
        )
        whole = {"PATH": path, "HOME": str(self.directory.parent), "LANG": "C.UTF-8", **environment}
        whole["BENCHMARK_STATUS"] = str(self.benchmark_status)
        return subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script], cwd=self.directory, env=whole, capture_output=True, text=True
        )

    def runs(self, capsys: pytest.CaptureFixture[str]) -> str:
        """What the history says of its contents."""
        capsys.readouterr()
        assert main(["history", f"--history={self.history}"]) == 0
        return capsys.readouterr().out


@pytest.fixture
def checkout(tmp_path: Path, sample: Path, forked_matbench: Path) -> Checkout:
    """With a history of twelve nights, and the tag of a thirteenth version."""
    directory = tmp_path / "repository"
    (directory / "benchmark").mkdir(parents=True)
    shutil.copy(EXAMPLES / "nightly.yaml", directory / "benchmark")
    (directory / "benchmark" / "texts.txt").write_text("a text\n")
    git = ["git", "-C", str(directory), "-c", "user.name=A", "-c", "user.email=a@b.example"]
    for arguments in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "x"], ["tag", "v1.1.0"]):
        subprocess.run([*git, *arguments], check=True)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "gh").write_text(GH)
    (tmp_path / "bin" / "gh").chmod(0o755)
    for version in VERSIONS:
        record(sample, tmp_path / "nights", version, FASTER)
    made = Checkout(directory, sample, forked_matbench)
    upload = ["upload_lts", "--workload=encoder_bench", f"--results-dirname={tmp_path / 'nights'}"]
    assert main([*upload, f"--history={made.history}"]) == 0
    return made


def check_reports(directory: Path, *, failed: bool) -> None:
    """Everything that the services are told to read is there, and says the same."""
    assert json.loads((directory / "regression.json").read_text())["failed"] is failed
    assert (directory / "index.html").stat().st_size > 1000
    assert bool(json.loads((directory / "gl-code-quality.json").read_text())) is failed
    assert (int(ET.parse(directory / "regression.xml").getroot().attrib["failures"]) > 0) is failed
    assert list(text_string_to_metric_families((directory / "metrics.txt").read_text()))
    assert (yaml.safe_load((directory / "summary.yaml").read_text())["failures"] > 0) is failed


# GitHub Actions


def evaluate(text: str, context: Mapping[str, str]) -> str:
    """*text* with its ``${{ … }}`` expressions evaluated; an unknown name is an error."""

    def value(match: re.Match[str]) -> str:
        python = re.sub(r"\b(?:github|vars|secrets|steps)(?:\.\w+)+", lambda name: repr(context[name[0]]), match[1])
        python = python.replace("cancelled()", "False").replace("&&", " and ").replace("||", " or ")
        result = eval(re.sub(r"!(?!=)", " not ", python).strip())  # our own file
        return str(result).lower() if isinstance(result, bool) else str(result)

    return re.sub(r"\$\{\{(.*?)\}\}", value, text, flags=re.DOTALL)


def github(checkout: Checkout, event: str) -> tuple[list[str], dict[str, subprocess.CompletedProcess[str]]]:
    """Run the workflow for *event*: the names of the steps that are no shell's, and what became of the others."""
    workflow = yaml.safe_load((EXAMPLES / "github-actions.yml").read_text())
    repository = {"github.repository": "a/b", "github.event.pull_request.head.repo.full_name": "a/b"}
    names = ("vars.MATBENCH_HISTORY", "secrets.MATBENCH_OPENSEARCH_USERNAME", "secrets.MATBENCH_OPENSEARCH_PASSWORD")
    context = {"github.event_name": event, "github.run_id": "1", "github.token": "t", "github.event.number": "7"}
    context |= repository | dict.fromkeys(names, "") | {"steps.benchmark.outcome": "skipped"}
    summary = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(checkout.directory.parent / "step_summary.md")}
    used, done, failed = [], {}, False
    for step in workflow["jobs"]["regression"]["steps"]:
        condition = step.get("if", "${{ 1 == 1 }}")
        if evaluate(condition, context) != "true" or (failed and "cancelled()" not in condition):
            continue
        if "uses" in step:
            used.append(step["uses"].partition("@")[0])
            continue
        variables = {**workflow["env"], **step.get("env", {})}
        environment = {name: evaluate(str(value), context) for name, value in variables.items()}
        done[step["name"]] = checkout.run(step["run"], environment | summary)
        failed |= done[step["name"]].returncode != 0
        if "id" in step:
            context[f"steps.{step['id']}.outcome"] = "failure" if done[step["name"]].returncode else "success"
    return used, done


def test_on_github_a_night_without_a_change_is_kept_and_passes(
    checkout: Checkout, capsys: pytest.CaptureFixture[str]
) -> None:
    checkout.measured(FASTER)
    used, done = github(checkout, "schedule")
    assert {name: step.returncode for name, step in done.items()} == dict.fromkeys(
        ("Install", "Benchmark", "Best configurations", "Keep the results", "Analyse"), 0
    )
    assert used == [
        "actions/checkout",
        "actions/setup-python",
        "actions/cache/restore",
        "actions/cache/save",
        "actions/upload-artifact",
    ]
    assert "Nothing was started" in done["Benchmark"].stdout
    assert "Nothing is worse" in done["Analyse"].stdout
    assert "::error" not in done["Analyse"].stdout
    check_reports(checkout.directory / "regression", failed=False)
    assert " 39 " in checkout.runs(capsys)


def test_on_github_a_night_with_a_regression_fails_and_its_history_is_saved_all_the_same(
    checkout: Checkout, capsys: pytest.CaptureFixture[str]
) -> None:
    checkout.measured(SLOWER)
    used, done = github(checkout, "schedule")
    assert done["Analyse"].returncode == 1
    assert "::error title=encoder_bench%3A throughput is worse::throughput of " in done["Analyse"].stdout
    summary = (checkout.directory.parent / "step_summary.md").read_text()
    assert summary.startswith("## ❌ matbench: `encoder_bench`")
    assert used[-2:] == ["actions/cache/save", "actions/upload-artifact"]
    check_reports(checkout.directory / "regression", failed=True)
    assert " 39 " in checkout.runs(capsys)
    assert main(["alarms", f"--history={checkout.history}"]) == 0
    assert "throughput" in capsys.readouterr().out


@pytest.mark.parametrize("exit_code", [1, 0], ids=["says so", "claims success"])
def test_on_github_a_night_with_a_failed_run_is_kept_and_analysed_and_fails(
    exit_code: int, checkout: Checkout, capsys: pytest.CaptureFixture[str]
) -> None:
    checkout.measured(FASTER)
    used, done = github(checkout.one_is_broken(RUNS[1], exit_code=exit_code), "schedule")
    failing = "Benchmark" if exit_code else "Keep the results"
    assert {name for name, step in done.items() if step.returncode} == {failing}
    assert RUNS[1] in done["Keep the results"].stdout + done["Keep the results"].stderr
    assert "Nothing is worse" in done["Analyse"].stdout
    assert used[-2:] == ["actions/cache/save", "actions/upload-artifact"]
    assert " 38 " in checkout.runs(capsys)


def test_on_github_nothing_is_kept_or_analysed_where_nothing_could_be_measured(checkout: Checkout) -> None:
    workflow = yaml.safe_load((EXAMPLES / "github-actions.yml").read_text())
    steps = {step["name"]: step for step in workflow["jobs"]["regression"]["steps"] if "name" in step}
    context = {"steps.benchmark.outcome": "skipped", "github.event_name": "schedule"}
    for name in ("Best configurations", "Keep the results", "Analyse"):
        assert evaluate(steps[name]["if"], context) == "false"


def test_on_github_a_pull_request_gets_a_comment_and_leaves_nothing_behind(
    checkout: Checkout, capsys: pytest.CaptureFixture[str]
) -> None:
    checkout.measured(SLOWER)
    used, done = github(checkout, "pull_request")
    assert "Keep the results" not in done
    assert "actions/cache/save" not in used
    assert (done["Analyse"].returncode, done["Comment"].returncode) == (1, 0)
    arguments = (checkout.directory.parent / "gh_arguments").read_text().split()
    assert arguments[:5] == ["pr", "comment", "7", "--body-file", "regression/regression.md"]
    check_reports(checkout.directory / "regression", failed=True)
    assert " 36 " in checkout.runs(capsys)
    assert main(["alarms", f"--history={checkout.history}"]) == 0
    assert "throughput" not in capsys.readouterr().out


def test_on_github_secrets_and_expressions_never_stand_in_a_script() -> None:
    workflow = yaml.safe_load((EXAMPLES / "github-actions.yml").read_text())
    assert not [step for step in workflow["jobs"]["regression"]["steps"] if "${{" in step.get("run", "")]


# GitLab


def gitlab_job(name: str) -> dict[str, Any]:
    """A job of the pipeline with what it extends."""
    pipeline = yaml.safe_load((EXAMPLES / "gitlab-ci.yml").read_text())

    def merged(below: Any, above: Any) -> Any:
        if not (isinstance(below, dict) and isinstance(above, dict)):
            return above
        return {key: merged(below.get(key), above[key]) if key in above else below[key] for key in {**below, **above}}

    job = merged(pipeline[pipeline[name]["extends"]], pipeline[name])
    assert isinstance(job, dict)
    return {**job, "variables": {key: str(value) for key, value in pipeline["variables"].items()}}


def gitlab(checkout: Checkout, name: str) -> subprocess.CompletedProcess[str]:
    job = gitlab_job(name)
    done = checkout.run("\n".join([*job["before_script"], *job["script"]]), {**job["variables"], "GITLAB_CI": "true"})
    for report in (*job["artifacts"]["reports"].values(), *job["artifacts"]["paths"]):
        assert (checkout.directory / report).exists(), done.stderr
    return done


def test_on_gitlab_a_night_is_kept_whatever_its_verdict(checkout: Checkout, capsys: pytest.CaptureFixture[str]) -> None:
    checkout.measured(SLOWER)
    done = gitlab(checkout, "nightly")
    assert done.returncode == 1
    assert "::error" not in done.stdout
    check_reports(checkout.directory / "regression", failed=True)
    assert " 39 " in checkout.runs(capsys)
    cache = gitlab_job("nightly")["cache"]
    assert (cache["policy"], cache["when"], cache["paths"]) == ("pull-push", "always", ["history.db"])


@pytest.mark.parametrize("exit_code", [1, 0], ids=["says so", "claims success"])
def test_on_gitlab_a_night_with_a_failed_run_is_kept_and_analysed_and_fails(
    exit_code: int, checkout: Checkout, capsys: pytest.CaptureFixture[str]
) -> None:
    checkout.measured(FASTER)
    done = gitlab(checkout.one_is_broken(RUNS[1], exit_code=exit_code), "nightly")
    assert done.returncode == 1
    assert "Nothing is worse" in done.stdout
    assert RUNS[1] in done.stdout + done.stderr
    check_reports(checkout.directory / "regression", failed=False)
    assert " 38 " in checkout.runs(capsys)


def test_on_gitlab_a_benchmark_that_could_not_be_started_ends_the_job(
    checkout: Checkout, capsys: pytest.CaptureFixture[str]
) -> None:
    checkout.measured(FASTER)
    job = gitlab_job("nightly")
    script = "\n".join([*job["before_script"], *job["script"]])
    done = dataclasses.replace(checkout, benchmark_status=2).run(script, job["variables"])
    assert done.returncode == 1
    assert " 36 " in checkout.runs(capsys)


def test_on_gitlab_a_quiet_night_passes(checkout: Checkout) -> None:
    checkout.measured(FASTER)
    assert gitlab(checkout, "nightly").returncode == 0


@pytest.mark.parametrize(("image", "status"), [(FASTER, 0), (SLOWER, 1)])
def test_on_gitlab_a_merge_request_is_compared_and_not_kept(
    image: str, status: int, checkout: Checkout, capsys: pytest.CaptureFixture[str]
) -> None:
    checkout.measured(image)
    done = gitlab(checkout, "merge request")
    assert done.returncode == status, done.stderr
    check_reports(checkout.directory / "regression", failed=bool(status))
    assert " 36 " in checkout.runs(capsys)
    assert gitlab_job("merge request")["cache"]["policy"] == "pull"


def test_without_a_history_a_merge_request_does_not_pass(checkout: Checkout) -> None:
    (checkout.directory / "history.db").unlink()
    checkout.measured(FASTER)
    job = gitlab_job("merge request")
    done = checkout.run("\n".join([*job["before_script"], *job["script"]]), job["variables"])
    assert done.returncode == 2
    assert "history.db" in done.stderr
