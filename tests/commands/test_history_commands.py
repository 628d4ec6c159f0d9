"""``upload_lts``, ``download_lts`` and ``history`` on a small tree: what they say, what they leave, how they exit."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import pytest
from history_support.payloads import payload

from matrix_benchmarking.cli import main
from matrix_benchmarking.config import OpenSearch
from matrix_benchmarking.history import Location, open_history, record
from matrix_benchmarking.history.location import parse

Capture = pytest.CaptureFixture[str]
UPLOAD = ["upload_lts", "--workload=tiny.py", "--results-dirname=results"]
DOWNLOAD = ["download_lts", "--workload=tiny.py", "--lts-results-dirname=lts"]


@pytest.fixture(autouse=True)
def outbox(directory: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MATBENCH_OUTBOX", str(directory / "outbox"))
    return directory / "outbox"


@pytest.fixture
def uploaded(capsys: Capture) -> None:
    assert main(UPLOAD) == 0
    capsys.readouterr()


def test_an_upload_says_what_it_did_and_doing_it_again_does_nothing(capsys: Capture) -> None:
    assert main(UPLOAD) == 0
    assert capsys.readouterr().out == "sqlite:///matbench.db: 3 runs added\nCheck: no findings.\n"
    assert main(["upload-lts", *UPLOAD[1:]]) == 0
    assert capsys.readouterr().out == "sqlite:///matbench.db: 0 runs added, 3 there already\nCheck: no findings.\n"


def test_a_dry_run_changes_nothing(capsys: Capture) -> None:
    assert main([*UPLOAD, "--dry-run"]) == 0
    assert "3 would be added, 0 there already (dry run: nothing was changed)" in capsys.readouterr().out
    assert not Path("matbench.db").exists()


def test_a_dry_run_names_what_is_there_with_other_contents(
    uploaded: None, new_test: Callable[..., Path], capsys: Capture
) -> None:
    _change("results/run_1")
    new_test(Path("results/run_9"), batch_size=9, rate=1.0)
    assert main([*UPLOAD, "--dry-run"]) == 0
    assert "2 would be added, 2 there already" in capsys.readouterr().out  # a digest is the id of a test without .uuid


def test_a_changed_run_with_an_id_of_its_own_is_a_conflict_until_it_is_replaced(capsys: Capture) -> None:
    Path("results/run_1/.uuid").write_text("2e4f5c2a-5a5b-4a6e-9d0c-0d9a4f7b8c11")
    assert main(UPLOAD) == 0
    _change("results/run_1")
    capsys.readouterr()
    assert main(UPLOAD) == 1
    said = capsys.readouterr()
    assert said.out == "sqlite:///matbench.db: 0 runs added, 2 there already, 1 in conflict\nCheck: no findings.\n"
    assert "run_1 (2e4f5c2a-5a5b-4a6e-9d0c-0d9a4f7b8c11)" in said.err
    assert "--replace" in said.err
    assert main([*UPLOAD, "--replace"]) == 0
    assert (
        capsys.readouterr().out
        == "sqlite:///matbench.db: 0 runs added, 2 there already, 1 replaced\nCheck: no findings.\n"
    )


def test_a_new_kpi_makes_no_conflict_and_what_was_recomputed_is_counted(uploaded: None, capsys: Capture) -> None:
    _add_a_kpi()
    assert main([*UPLOAD, "--dry-run"]) == 0
    assert "0 would be added, 0 there already, 3 recomputed (dry run: nothing was changed)" in capsys.readouterr().out
    assert main(UPLOAD) == 0
    assert capsys.readouterr().out == "sqlite:///matbench.db: 0 runs added, 3 recomputed\nCheck: no findings.\n"
    assert main(UPLOAD) == 0
    assert capsys.readouterr().out == "sqlite:///matbench.db: 0 runs added, 3 there already\nCheck: no findings.\n"


def test_an_import_recomputes_only_what_the_export_computed_by_a_newer_schema(uploaded: None, capsys: Capture) -> None:
    assert main(["history", "export", "old.jsonl"]) == 0
    _add_a_kpi()
    assert main(UPLOAD) == 0
    capsys.readouterr()
    assert main(["history", "import", "old.jsonl"]) == 1
    said = capsys.readouterr()
    assert said.out == "sqlite:///matbench.db: 0 runs added, 3 in conflict\n"
    assert "the same measurement is kept with other computations, which may be newer: --replace goes back" in said.err
    export = Path("old.jsonl").read_text().replace('"lts_schema_version":"1.0"', '"lts_schema_version":"1.1"')
    *lines, _ = export.splitlines(keepends=True)
    checksum = hashlib.blake2b("".join(lines[1:]).encode(), digest_size=16).hexdigest()
    Path("new.jsonl").write_text("".join(lines) + json.dumps({"payloads": 3, "checksum": checksum}) + "\n")
    assert main(["history", "import", "new.jsonl"]) == 0
    assert capsys.readouterr().out == "sqlite:///matbench.db: 0 runs added, 3 recomputed\n"


def test_corrected_settings_are_said_and_take_the_place_of_the_old_ones_where_that_is_wanted(
    uploaded: None, capsys: Capture
) -> None:
    (before,) = [each for each in _kept_runs() if each[1]["batch_size"] == 2]
    settings = Path("results/run_2/settings.yaml")
    settings.write_text(settings.read_text().replace(": 2", ": 64"))
    assert main([*UPLOAD, "--dry-run"]) == 0
    assert f"is kept as {before[0]} with batch_size 2 instead of 64" in capsys.readouterr().out
    assert main(UPLOAD) == 1
    said = capsys.readouterr()
    assert said.out == "sqlite:///matbench.db: 0 runs added, 2 there already, 1 in conflict\nCheck: no findings.\n"
    assert "1 run not kept, since the same measurements are there:\n  run_2 (" in said.err
    assert f"): the same measurement is kept as {before[0]} with batch_size 2 instead of 64: --replace" in said.err
    assert main([*UPLOAD, "--replace"]) == 0
    counted, named, _ = capsys.readouterr().out.splitlines()
    assert counted == "sqlite:///matbench.db: 0 runs added, 2 there already, 1 replaced"
    assert named == f"  run_2 ({before[0]}): was kept with batch_size 2 instead of 64"
    assert main(UPLOAD) == 0
    assert capsys.readouterr().out == "sqlite:///matbench.db: 0 runs added, 3 there already\nCheck: no findings.\n"
    assert sorted(settings["batch_size"] for _, settings in _kept_runs()) == [1, 3, 64]


def _version(run: str, version: str, start: str | None) -> None:
    """A run of *version* with artifacts that are equal in all versions, and when it started."""
    (Path(run) / "settings.yaml").write_text(json.dumps({"batch_size": 1, "version": version}))
    (Path(run) / "rate.json").write_text(json.dumps({"rate": 7.0, "start": start}))


@pytest.fixture
def versions_matter() -> None:
    source = Path("tiny.py").read_text().replace("import Workload", "import RegressionKeys, Workload")
    source = source.replace("store=store)", 'store=store, regression=RegressionKeys(comparison_keys=["version"]))')
    started = '    results.start = read_json(test_dir / "rate.json").get("start")\n    results.prices'
    Path("tiny.py").write_text(source.replace("    results.prices", started))
    for number in (2, 3):
        shutil.rmtree(f"results/run_{number}")


def test_a_corrected_version_takes_the_place_of_the_old_one(versions_matter: None, capsys: Capture) -> None:
    _version("results/run_1", "1.2.o", "2026-11-20T02:00:00+00:00")
    assert main(UPLOAD) == 0
    _version("results/run_1", "1.2.0", "2026-11-20T02:00:00+00:00")
    assert main(UPLOAD) == 1
    assert "with version 1.2.o instead of 1.2.0: --replace corrects it" in capsys.readouterr().err
    assert main([*UPLOAD, "--replace"]) == 0
    assert "was kept with version 1.2.o instead of 1.2.0" in capsys.readouterr().out
    assert [settings["version"] for _, settings in _kept_runs()] == ["1.2.0"]


@pytest.mark.parametrize("starts", [(None, None), ("2026-11-20T02:00:00+00:00", "2026-11-21T02:00:00+00:00")])
def test_versions_with_equal_artifacts_are_two_runs_unless_they_ran_at_one_time(
    versions_matter: None, starts: tuple[str | None, ...]
) -> None:
    for version, start in zip(("1.2.0", "1.3.0"), starts, strict=True):
        _version("results/run_1", version, start)
        assert main(UPLOAD) == 0
    assert [settings["version"] for _, settings in _kept_runs()] == ["1.2.0", "1.3.0"]


def _kept_runs() -> list[tuple[str, dict[str, Any]]]:
    """Id and settings of the runs in the default history."""
    with contextlib.closing(sqlite3.connect("matbench.db")) as connection:
        found = connection.execute("SELECT id, head ->> 'settings' FROM runs").fetchall()
    return [(run, json.loads(settings)) for run, settings in found]


def _add_a_kpi() -> None:
    function = """
@kpi.LowerBetter
@kpi.KPIMetadata(help="How long one takes", unit="s")
def duration(lts):
    return 1 / lts.results.rate


"""
    source = Path("tiny.py").read_text()
    Path("tiny.py").write_text(
        source.replace("store = ", f"{function}store = ").replace("[rate]", "[rate, duration]"), encoding="utf-8"
    )


def _change(directory: str) -> None:
    Path(directory, "rate.json").write_text(json.dumps({"rate": 77.0}))


def test_one_invalid_run_and_nothing_is_kept(new_test: Callable[..., Path], capsys: Capture) -> None:
    (new_test(Path("results/run_4"), batch_size=4, rate=1.0) / "rate.json").write_text("")
    assert main(UPLOAD) == 1
    assert "run_4: rate.json: is empty" in capsys.readouterr().err
    assert not Path("matbench.db").exists()
    assert main([*UPLOAD, "--filters=batch_size=1:2"]) == 0
    assert capsys.readouterr().out == "sqlite:///matbench.db: 2 runs added\nCheck: no findings.\n"


def test_the_flags_of_matrixbenchmarking_mean_an_opensearch_server(capsys: Capture) -> None:
    options = ["--opensearch-host=127.0.0.1", "--opensearch-port=9", "--opensearch-username=ann"]
    assert main([*UPLOAD, *options, "--opensearch-index=runs", "--upload-by-kpi"]) == 2
    said = capsys.readouterr().err
    assert "https://127.0.0.1:9 can't be reached" in said
    assert "Connection refused; is the server running?" in said
    assert "3 runs wait in the outbox" in said


def test_there_is_no_option_for_a_password(capsys: Capture) -> None:
    assert main([*UPLOAD, "--opensearch-password=x"]) == 2
    assert "no such option" in capsys.readouterr().err.lower()


def test_a_server_that_is_away_is_a_warning_if_the_configuration_says_so(capsys: Capture) -> None:
    Path("config.yaml").write_text("matbench: {lts: {opensearch: {export: {fail_test_on_fail: false}}}}")
    assert main([*UPLOAD, "--history=http://127.0.0.1:9/runs"]) == 0
    assert "warning: http://127.0.0.1:9 can't be reached" in capsys.readouterr().err
    assert main([*UPLOAD, "--history=http://127.0.0.1:9/runs", "--fail-test-on-fail=True"]) == 2


def test_the_outbox_can_be_given_up(capsys: Capture) -> None:
    away = "--history=http://127.0.0.1:9/runs"
    assert main([*UPLOAD, away]) == 2
    assert main(["history", "flush", away]) == 2
    assert "3 runs wait in the outbox" in capsys.readouterr().err
    assert main(["history", "flush", away, "--drop"]) == 0
    assert capsys.readouterr().out == "http://127.0.0.1:9/runs: 3 runs removed from the outbox\n"
    assert main(["history", "flush", away]) == 0
    assert "nothing waits" in capsys.readouterr().out


def test_two_places_at_once_are_refused_and_the_stronger_wins(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    both = ["--history=sqlite:///x.db", "--opensearch-host=127.0.0.1"]
    assert main([*UPLOAD, *both]) == 2
    assert "give one of them" in capsys.readouterr().err
    Path("config.yaml").write_text("matbench: {history: 'sqlite:///configured.db'}")
    assert main(UPLOAD) == 0
    assert "sqlite:///configured.db: 3 runs added" in capsys.readouterr().out
    assert main([*UPLOAD, "--opensearch-host=127.0.0.1", "--opensearch-port=9"]) == 2
    assert "https://127.0.0.1:9 can't be reached" in capsys.readouterr().err
    monkeypatch.setenv("MATBENCH_OPENSEARCH_HOST", "127.0.0.1")
    assert main([*UPLOAD, "--history=sqlite:///flag.db"]) == 0
    assert "sqlite:///flag.db: 3 runs added" in capsys.readouterr().out


def test_payloads_that_were_downloaded_can_be_uploaded(uploaded: None, capsys: Capture) -> None:
    assert main(DOWNLOAD) == 0
    assert main([*UPLOAD[:2], "--lts-results-dirname=lts", "--history=sqlite:///other.db"]) == 0
    assert capsys.readouterr().out.endswith("sqlite:///other.db: 3 runs added\nCheck: no findings.\n")
    assert main([*UPLOAD, "--history=sqlite:///other.db"]) == 0
    assert capsys.readouterr().out == "sqlite:///other.db: 0 runs added, 3 there already\nCheck: no findings.\n"


def test_a_download_writes_a_file_a_run_and_again_only_what_is_new(
    uploaded: None, new_test: Callable[..., Path], capsys: Capture
) -> None:
    assert main(DOWNLOAD) == 0
    assert capsys.readouterr().out == "lts: 3 payloads (3 written, 0 there already)\n"
    assert len(list(Path("lts").glob("*.json"))) == 3
    new_test(Path("results/run_4"), batch_size=4, rate=8.0)
    assert main(UPLOAD) == 0
    capsys.readouterr()
    assert main(DOWNLOAD) == 0
    assert capsys.readouterr().out == "lts: 4 payloads (1 written, 3 there already)\n"


def test_a_download_is_read_by_parse_and_visualize_as_the_artifacts_are(uploaded: None, capsys: Capture) -> None:
    assert main(DOWNLOAD) == 0
    assert main(["parse", "--workload=tiny.py", "--results-dirname=results", "--output-lts=a.json"]) == 0
    first = capsys.readouterr().out.partition("\n")[2]
    shutil.rmtree("results")
    assert main(["parse", "--lts", "--workload=tiny.py", "--lts-results-dirname=lts", "--output-lts=b.json"]) == 0
    assert capsys.readouterr().out == first
    key = "metadata"
    a, b = (
        sorted(json.loads(Path(name).read_text()), key=lambda each: each[key]["test_uuid"])
        for name in ("a.json", "b.json")
    )
    assert a == b
    assert main(["parse", "--lts", "--workload=tiny.py", "--results-dirname=lts"]) == 0
    assert main(["visualize", "--workload=tiny.py", "--lts-results-dirname=lts", "--generate"]) == 0
    assert Path("report/index.html").is_file()


def test_a_download_can_be_narrowed(uploaded: None, capsys: Capture) -> None:
    assert main([*DOWNLOAD, "--filters=batch_size=2"]) == 0
    (path,) = Path("lts").glob("*.json")
    assert json.loads(path.read_text())["metadata"]["settings"]["batch_size"] == 2
    assert main([*DOWNLOAD, "--max-records=2"]) == 0
    assert "2 payloads" in capsys.readouterr().out
    assert main([*DOWNLOAD, "--since=2000-01-01"]) == 2  # these runs don't say when they were
    assert "no run of workload 'tiny' in sqlite:///matbench.db is selected" in capsys.readouterr().err


def test_clean_removes_what_earlier_downloads_wrote_and_nothing_else(uploaded: None, capsys: Capture) -> None:
    assert main(DOWNLOAD) == 0
    Path("lts/mine.json").write_text("{}")
    assert main([*DOWNLOAD, "--filters=batch_size=2", "--clean"]) == 0
    assert "1 payloads (0 written, 1 there already, 2 removed)" in capsys.readouterr().out
    assert len(list(Path("lts").glob("*.json"))) == 2
    assert Path("lts/mine.json").exists()


def test_a_directory_with_other_things_is_left_alone_unless_forced(uploaded: None, capsys: Capture) -> None:
    Path("lts").mkdir()
    Path("lts/notes.txt").write_text("mine")
    assert main(DOWNLOAD) == 2
    assert "holds other things" in capsys.readouterr().err
    assert [path.name for path in Path("lts").iterdir()] == ["notes.txt"]
    assert main([*DOWNLOAD, "--force"]) == 0
    assert Path("lts/notes.txt").read_text() == "mine"


def test_a_record_that_leads_out_of_the_directory_removes_nothing(uploaded: None) -> None:
    assert main(DOWNLOAD) == 0
    Path("precious.json").write_text("{}")
    record = Path("lts/.matbench/download_lts.json")
    record.write_text(json.dumps({"version": 1, "files": ["../precious.json", "/etc/hostname", 5]}))
    assert main([*DOWNLOAD, "--clean"]) == 0
    assert Path("precious.json").exists()


def test_a_download_can_be_a_table(uploaded: None) -> None:
    assert main([*DOWNLOAD, "--parquet"]) == 0
    frame = pandas.read_parquet("lts/lts.parquet")
    assert sorted(frame["batch_size"]) == [1, 2, 3]
    assert sorted(frame["rate"]) == [1.5, 3.0, 4.5]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["download_lts", "--workload=tiny.py"], "no directory given: use --lts-results-dirname DIR"),
        ([*DOWNLOAD, "--since=yesterday"], "'yesterday' is no time such as 2026-01-31"),
        ([*DOWNLOAD, "--history=sqlite:///none.db"], "there is no history 'none.db' yet"),
        ([*DOWNLOAD, "--max-records=0"], "max-records"),
        ([*DOWNLOAD, "--filters=x"], "is not of the form name=value"),
        (["history", "--history=sqlite:///none.db"], "there is no history 'none.db' yet"),
        (["history", "--history=none.db"], "did you mean sqlite:///none.db?"),
        (["history", "prune"], "use --before TIME, --keep N, or both"),
        (["history", "prune", "--before=x"], "'x' is no time"),
        (["history", "import", "tiny.py"], "'tiny.py' is no export of a history"),
        (["history", "exprot"], "exprot"),
        (
            ["parse", "--lts", "--workload=tiny.py", "--results-dirname=none"],
            "the directory 'none' of LTS payloads does not exist",
        ),
        (
            ["parse", "--lts", "--workload=tiny.py", "--results-dirname=results"],
            "no LTS payload of workload 'tiny' found",
        ),
    ],
)
def test_what_is_wrong_is_a_sentence(uploaded: None, arguments: list[str], sentence: str, capsys: Capture) -> None:
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert "Traceback" not in said


def test_history_shows_workloads_series_and_what_waits(uploaded: None, capsys: Capture) -> None:
    assert main(["history"]) == 0
    out = capsys.readouterr().out
    assert [word in out for word in ("sqlite:///matbench.db", "tiny", "unknown")] == [True] * 3
    assert main(["history", "show", "--series"]) == 0
    out = capsys.readouterr().out
    assert "rate (1/s)" in out
    assert "batch_size=1" in out
    assert "hw_type" not in out  # all series share it


def test_a_hostile_label_is_shown_and_not_obeyed(new_test: Callable[..., Path], capsys: Capture) -> None:
    new_test(Path("results/run_9"), batch_size="\x1b[31m[red]<script>\x07", rate=1.0)
    assert main(UPLOAD) == 0
    assert main(["history", "--series"]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\x07" not in out
    assert "[red]<script>" in out.replace("\n", "")


def test_export_and_import_move_everything(uploaded: None, capsys: Capture) -> None:
    assert main(["history", "export", "all.jsonl.gz"]) == 0
    assert main(["history", "import", "all.jsonl.gz", "--history=sqlite:///b.db"]) == 0
    assert capsys.readouterr().out == "sqlite:///b.db: 3 runs added\n"
    assert main(["history", "export", "-", "--history=sqlite:///b.db"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 5


def test_an_export_that_can_not_be_written_leaves_nothing(uploaded: None, capsys: Capture) -> None:
    Path("file").write_text("")
    assert main(["history", "export", "file/all.jsonl"]) == 2
    assert "not a directory" in capsys.readouterr().err
    assert Path("file").read_text() == ""


def test_prune_is_a_dry_run_unless_told_otherwise(uploaded: None, capsys: Capture) -> None:
    assert main(["history", "prune", "--keep=1"]) == 0
    said = capsys.readouterr().out
    assert "0 of 3 runs would be deleted (dry run: --delete deletes them)\n  2 more than the number stay: they" in said
    assert main(["history", "prune", "--keep=0"]) == 0
    assert "3 of 3 runs would be deleted (dry run: --delete deletes them)" in capsys.readouterr().out
    assert main(["history", "prune", "--keep=0", "--delete"]) == 0
    assert "3 of 3 runs deleted" in capsys.readouterr().out
    assert main(UPLOAD) == 0
    assert "3 runs added" in capsys.readouterr().out


def test_a_file_of_the_history_belongs_to_its_owner(uploaded: None) -> None:
    assert stat.S_IMODE(Path("matbench.db").stat().st_mode) & stat.S_IWOTH == 0


@pytest.mark.xdist_group("opensearch")
def test_the_three_steps_of_the_documentation_lead_to_opensearch(opensearch, uploaded: None, capsys: Capture) -> None:
    there = f"{opensearch.url}/three-steps"
    assert main(["history", "export", "everything.jsonl.gz", "--history=sqlite:///matbench.db"]) == 0
    assert main(["history", "import", "everything.jsonl.gz", f"--history={there}"]) == 0
    assert capsys.readouterr().out == f"{there}: 3 runs added\n"
    Path("config.yaml").write_text(f"matbench: {{history: '{there}'}}")
    assert main(UPLOAD) == 0
    assert capsys.readouterr().out == f"{there}: 0 runs added, 3 there already\nCheck: no findings.\n"
    assert main(["history"]) == 0
    assert "tiny" in capsys.readouterr().out
    assert main(DOWNLOAD) == 0
    assert main(["history", "export", "back.jsonl.gz"]) == 0
    assert Path("back.jsonl.gz").read_bytes() == Path("everything.jsonl.gz").read_bytes()
    assert main(["history", "prune", "--keep=0", "--delete"]) == 0
    assert "3 of 3 runs deleted" in capsys.readouterr().out


@pytest.mark.xdist_group("opensearch")
def test_what_waited_in_the_outbox_is_delivered_by_the_next_upload(opensearch, outbox: Path, capsys: Capture) -> None:
    there = f"{opensearch.url}/outbox-test"
    assert main([*UPLOAD, "--history=http://127.0.0.1:9/outbox-test"]) == 2
    (waiting,) = outbox.iterdir()
    from matrix_benchmarking.history.delivery import Outbox

    waiting.rename(Outbox(outbox, there).directory)
    assert main(["history", "show", f"--history={there}"]) == 2  # nothing has made the indices yet
    assert main([*UPLOAD, f"--history={there}"]) == 0
    said = capsys.readouterr().out
    assert f"{there}: 3 runs added that had waited in the outbox\n{there}: 0 runs added, 3 there already\n" in said


def test_a_download_that_selects_nothing_removes_nothing(uploaded: None, capsys: Capture) -> None:
    assert main(DOWNLOAD) == 0
    assert main([*DOWNLOAD, "--filters=batch_size=99", "--clean"]) == 2
    assert "is selected" in capsys.readouterr().err
    assert len(list(Path("lts").glob("*.json"))) == 3


def test_a_table_of_an_earlier_download_does_not_get_stale(uploaded: None) -> None:
    assert main([*DOWNLOAD, "--parquet"]) == 0
    assert main([*DOWNLOAD, "--filters=batch_size=2", "--clean"]) == 0
    assert list(pandas.read_parquet("lts/lts.parquet")["batch_size"]) == [2]


def test_a_first_download_that_was_interrupted_can_go_on(
    uploaded: None, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from matrix_benchmarking.history import History

    genuine = History.records

    def interrupted(self, query):
        yield next(genuine(self, query))
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(History, "records", interrupted)
        assert main(DOWNLOAD) == 130
    assert len(list(Path("lts").glob("*.json"))) == 1
    assert main(DOWNLOAD) == 0
    assert "3 payloads (2 written, 1 there already)" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["matbench.db", "other.db"])
def test_an_export_never_overwrites_a_database(uploaded: None, name: str, capsys: Capture) -> None:
    if not Path(name).exists():
        shutil.copy("matbench.db", name)
    before = Path(name).read_bytes()
    assert main(["history", "export", name]) == 2
    assert "is a SQLite database" in capsys.readouterr().err
    assert Path(name).read_bytes() == before


@pytest.mark.parametrize("flag", ["--opensearch-index=x", "--opensearch-port=9251", "--opensearch-username=ann"])
def test_an_option_about_a_server_without_one_is_refused(flag: str, capsys: Capture) -> None:
    assert main([*UPLOAD, flag]) == 2
    assert "name it by --opensearch-host" in capsys.readouterr().err
    assert not Path("matbench.db").exists()
    assert main([*UPLOAD, "--opensearch-host=http://127.0.0.1"]) == 2
    assert "--history takes a whole address" in capsys.readouterr().err


def test_a_price_for_payloads_is_said_to_change_nothing(uploaded: None, capsys: Capture) -> None:
    assert main(DOWNLOAD) == 0
    assert main(["parse", "--workload=tiny.py", "--lts-results-dirname=lts", "--price=cpu-1=99"]) == 0
    assert "--price changes nothing here" in capsys.readouterr().err


def test_a_workload_that_is_not_there_is_not_pruned_in_silence(uploaded: None, capsys: Capture) -> None:
    assert main(["history", "prune", "--keep=0", "--only-workload=tiyn"]) == 2
    assert "did you mean 'tiny'" in capsys.readouterr().err


def test_an_age_beyond_all_time_is_a_sentence(uploaded: None, capsys: Capture) -> None:
    assert main(["history", "prune", "--before=999999w"]) == 2
    assert "before the beginning of time" in capsys.readouterr().err


def test_flush_delivers_what_waits_for_the_instance_too(
    outbox: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("config.yaml").write_text(
        "matbench: {history: 'sqlite:///own.db', lts: {opensearch: {instance: smoke, export: {enabled: true}}}}"
    )
    monkeypatch.setenv("MATBENCH_OPENSEARCH_SMOKE_URL", "http://127.0.0.1:9/runs")
    assert main(["parse", "--workload=tiny.py", "--results-dirname=results"]) == 2
    capsys.readouterr()
    assert main(["history", "flush"]) == 2
    assert "http://127.0.0.1:9 can't be reached" in capsys.readouterr().err
    assert main(["history", "flush", "--drop"]) == 0
    assert "http://127.0.0.1:9/runs: 3 runs removed" in capsys.readouterr().out


def test_an_outbox_that_is_a_file_is_a_sentence_for_all(
    outbox: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("file").write_text("")
    monkeypatch.setenv("MATBENCH_OUTBOX", "file")
    for command in (UPLOAD, ["history", "flush"]):
        assert main([*command, "--history=http://127.0.0.1:9/runs"]) == 2
        assert "the outbox 'file' is a file" in capsys.readouterr().err


def test_whoever_stops_reading_is_not_told_that_the_verdict_is_bad(uploaded: None, repository: Path) -> None:
    import os
    import subprocess
    import sys

    command = (
        f"{sys.executable} -m matrix_benchmarking history --series | head -c 1 > /dev/null; exit ${{PIPESTATUS[0]}}"
    )
    environment = {**os.environ, "PYTHONPATH": str(repository), "COLUMNS": "200"}
    statuses = {
        subprocess.run(["bash", "-c", command], env=environment, stderr=subprocess.DEVNULL, check=False).returncode
        for _ in range(5)
    }
    assert statuses <= {0, 141}


@pytest.mark.parametrize("edited", ["'yesterday'", "9223372036854775807", "1e999", "x'ff'"])
def test_a_time_that_somebody_edited_is_no_time(uploaded: None, capsys: Capture, edited: str) -> None:
    with contextlib.closing(sqlite3.connect("matbench.db")) as database, database:
        database.execute(f"UPDATE runs SET time_us = {edited} WHERE id = (SELECT min(id) FROM runs)")
    capsys.readouterr()
    assert main(["history", "--history=sqlite:///matbench.db"]) == 0
    assert "no time" in capsys.readouterr().out


def test_a_moment_of_arrival_that_somebody_edited_is_not_known(uploaded: None) -> None:
    with contextlib.closing(sqlite3.connect("matbench.db")) as database, database:
        database.execute("UPDATE runs SET recorded_us = 'lately', recorded_place = NULL")
    with open_history(parse("sqlite:///matbench.db", {})[0], writable=False) as history:
        assert {run.recorded for run in history.runs()} == {None}


@pytest.mark.xdist_group("opensearch")
def test_months_are_made_and_let_go_as_the_configuration_says(opensearch, capsys: Capture) -> None:
    there = f"{opensearch.url}/by-month"
    settings = "rollover: monthly, keep_months: 1"
    Path("config.yaml").write_text(f"matbench: {{history: '{there}', lts: {{opensearch: {{{settings}}}}}}}")
    with open_history(_monthly(there), writable=True) as kept:
        kept.push(record(payload(number, time=f"20{10 + number}-05-01T00:00:00Z")) for number in range(2))
    assert main(["history", "prune"]) == 0
    wanted = f"{there}: the month 2010-05 (1 run) "
    assert capsys.readouterr().out == f"{wanted}would be deleted (dry run: --delete deletes it), as keep_months says\n"
    assert main(UPLOAD) == 0
    assert f"{there}: 3 runs added\n{wanted}was deleted, as keep_months says\n" in capsys.readouterr().out
    assert main(["history", "prune", "--delete"]) == 0
    assert capsys.readouterr().out == f"{there}: no month is older than the 1 that are kept\n"
    Path("config.yaml").write_text("matbench: {lts: {opensearch: {keep_months: 1}}}")
    assert main(["history"]) == 2
    assert "keep_months needs matbench.lts.opensearch.rollover: monthly" in capsys.readouterr().err


def _monthly(text: str) -> Location:
    return parse(text, {}, configured=OpenSearch(rollover="monthly"))[0]
