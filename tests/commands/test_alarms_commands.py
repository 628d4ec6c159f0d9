"""``matbench alarms`` on small histories: what it says, what it keeps, how it exits."""

from __future__ import annotations

import getpass
import io
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from history_support.alarms import event, subject
from history_support.payloads import payload
from rich.cells import cell_len
from rich.console import Console

from matrix_benchmarking.analyze.verdict.lifecycle import known_alarms
from matrix_benchmarking.cli import main
from matrix_benchmarking.commands import alarms as alarms_command
from matrix_benchmarking.history import SQLiteLocation, open_history, record
from matrix_benchmarking.history.alarms import Action, AlarmEvent

Capture = pytest.CaptureFixture[str]
Keep = Callable[..., None]
SLOWER, LESS, FIXED = (f"{name}{'0' * 8}" for name in ("51a0", "1e55", "f1ed"))


@pytest.fixture
def keep(directory: Path) -> Keep:
    """Records events in matbench.db, which has a run, too."""

    def record_events(*events: AlarmEvent) -> None:
        with open_history(SQLiteLocation(directory / "matbench.db"), writable=True) as kept:
            kept.push([record(payload(1))])
            kept.record_alarms(events)

    return record_events


@pytest.fixture
def alarms(keep: Keep) -> None:
    """Two open alarms and a fixed one."""
    less = subject(kpi="throughput", unit="inputs/s", lower_better=False, old_level=158.8, new_level=146.0)
    keep(
        event(1, alarm=SLOWER),
        event(2, alarm=LESS, about=less),
        event(0, alarm=FIXED),
        event(3, Action.FIXED, alarm=FIXED, version="1.3.2"),
    )


def listed(capsys: Capture, *options: str) -> dict[str, dict[str, object]]:
    """What ``alarms --format=json`` lists, by id."""
    assert main(["alarms", "--format=json", *options]) == 0
    return {each["id"]: each for each in json.loads(capsys.readouterr().out)}


@pytest.mark.parametrize("columns", [50, 80])
def test_the_ids_of_alarms_stay_however_narrow_the_terminal_is(columns: int) -> None:
    about = [subject(workload=name, series="s" * 60, first_bad="1.3.0+" + "a" * 40) for name in ("one", "other" * 8)]
    known = known_alarms(
        [event(number, alarm=SLOWER[::-1] if number else LESS, about=one) for number, one in enumerate(about)]
    )
    stream = io.StringIO()
    Console(file=stream, width=columns).print(alarms_command._table(list(known.values()), {}))
    assert all(f"│ {each} │" in stream.getvalue() for each in known)
    assert max(map(cell_len, stream.getvalue().splitlines())) <= columns


def test_alarms_alone_lists_the_open_ones_the_newest_first(alarms: None, capsys: Capture) -> None:
    assert main(["alarms"]) == 0
    out = capsys.readouterr().out
    rows = [line for line in out.splitlines() if line.startswith("│")]
    assert [row.split()[1] for row in rows] == ["1e5500000000", "51a000000000"]
    for word in (
        "throughput",
        "onnx-fp32 · batch_size 8",
        "1.3.0",
        "158.8 → 146 inputs/s, −8.1 %",
        "2026-03-01",
        "open",
    ):
        assert word in rows[0]
    assert out.endswith("1 resolved or fixed (--all lists them)\n")
    assert "Workload" not in out
    assert main(["alarms", "list"]) == 0
    assert capsys.readouterr().out == out


def test_all_lists_what_was_dealt_with_too(alarms: None, capsys: Capture) -> None:
    assert main(["alarms", "--all"]) == 0
    out = capsys.readouterr().out
    assert "fixed by 1.3.2 on 2026-03-01" in out
    assert "--all" not in out


def test_machines_get_json(alarms: None, capsys: Capture) -> None:
    found = listed(capsys)
    assert list(found) == [LESS, SLOWER]
    assert found[LESS]["status"] == "open"
    assert found[LESS]["labels"] == {"image": "onnx-fp32", "batch_size": 8}
    assert list(listed(capsys, "--all")) == [LESS, SLOWER, FIXED]


def test_a_history_without_alarms_says_so(keep: Keep, capsys: Capture) -> None:
    keep()
    assert main(["alarms"]) == 0
    assert capsys.readouterr().out == "sqlite:///matbench.db: no alarms\n"
    assert listed(capsys) == {}
    keep(event(0, alarm=FIXED), event(3, Action.FIXED, alarm=FIXED, version="1.3.2"))
    assert main(["alarms"]) == 0
    expected = "sqlite:///matbench.db: no alarm is open; 1 resolved or fixed (--all lists them)\n"
    assert capsys.readouterr().out == expected


def test_only_alarms_of_one_workload(keep: Keep, capsys: Capture) -> None:
    keep(event(1, alarm=SLOWER), event(2, alarm=LESS, about=subject(workload="tiny")))
    assert list(listed(capsys, "--workload=speed")) == [SLOWER]  # a name in the history is enough
    assert list(listed(capsys, "--workload=tiny.py")) == [LESS]
    assert main(["alarms", "--workload=spede"]) == 2
    assert "spede" in capsys.readouterr().err
    assert main(["alarms"]) == 0
    assert "Workload" in capsys.readouterr().out  # of several, each alarm says which


def test_levels_are_shown_as_the_workload_shows_its_kpis(keep: Keep, directory: Path, capsys: Capture) -> None:
    about = subject(workload="tiny", kpi="rate", unit="1/s", lower_better=False, old_level=2.0, new_level=1.0)
    keep(event(1, alarm=SLOWER, about=about))
    source = (directory / "tiny.py").read_text(encoding="utf-8").replace("@kpi.H", '@kpi.Format("{:.3f}")\n@kpi.H')
    (directory / "tiny.py").write_text(source, encoding="utf-8")
    for options, words in (["--workload=tiny.py"], "2.000 → 1.000 1/s"), ([], "2 → 1 1/s, −50.0 %"):
        assert main(["alarms", *options]) == 0
        assert words in capsys.readouterr().out
    Path("config.yaml").write_text("matbench: {workload: tiny.py}")
    assert main(["alarms", "ack", "51a0", "--reason=known", "--author=ann"]) == 0
    assert "(2.000 → 1.000 1/s, −50.0 %)" in capsys.readouterr().out
    Path("tiny.py").write_text("import nothing_of_that_name")
    assert main(["alarms"]) == 0  # a list of alarms needs no workload
    assert "2 → 1 1/s" in capsys.readouterr().out


def test_what_only_the_history_names_is_not_imported(keep: Keep, directory: Path, capsys: Capture) -> None:
    (directory / "stranger.py").write_text("open('imported', 'w')")
    for name in ("stranger", "stranger.py"):
        keep(event(1, alarm=SLOWER, about=subject(workload=name)))
    assert main(["alarms"]) == 0
    assert not Path("imported").exists()


def test_the_workload_of_the_configuration_hides_no_alarm(alarms: None, capsys: Capture) -> None:
    Path("config.yaml").write_text("matbench: {workload: tiny.py}")
    assert set(listed(capsys)) == {SLOWER, LESS}


def test_an_acknowledged_alarm_says_who_why_and_until_when(alarms: None, capsys: Capture) -> None:
    ack = ["alarms", "ack", "51a0", "--reason= known, see the wiki ", "--until=1.4.0", "--author=Ann Smith"]
    assert main(ack) == 0
    said = capsys.readouterr().out
    about = "51a000000000 p95_latency of onnx-fp32 · batch_size 8 since 1.3.0 (20 → 22.5 ms, +12.5 %)"
    assert said.startswith(f"{about}: acknowledged by Ann Smith on ")
    assert said.endswith(" until 1.4.0: known, see the wiki\n")
    found = listed(capsys)
    assert [found[SLOWER][name] for name in ("status", "author", "reason", "until", "events")] == [
        "acknowledged",
        "Ann Smith",
        "known, see the wiki",
        "1.4.0",
        2,
    ]
    assert list(found) == [LESS, SLOWER]  # what is open comes first


def test_an_alarm_can_be_resolved_and_opened_again(alarms: None, capsys: Capture) -> None:
    assert main(["alarms", "resolve", "51a0", "--reason=rolled back"]) == 0
    assert "resolved by " in capsys.readouterr().out
    assert listed(capsys, "--all")[SLOWER]["status"] == "resolved"
    assert main(["alarms", "reopen", "51a0", "f1ed"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
    found = listed(capsys)
    assert (found[SLOWER]["status"], found[FIXED]["status"], found[FIXED]["reason"]) == ("open", "open", None)


def test_several_at_once_are_all_kept_or_none(alarms: None, capsys: Capture) -> None:
    assert main(["alarms", "ack", "51a0", "1e55", "f1ed", "--reason=known"]) == 2
    assert (
        "alarm f1ed00000000 is fixed by 1.3.2 on 2026-03-01: 'matbench alarms reopen' opens" in capsys.readouterr().err
    )
    assert main(["alarms", "ack", "51a0", "9999", "--reason=known"]) == 2
    assert {each["status"] for each in listed(capsys).values()} == {"open"}
    assert main(["alarms", "ack", "51a0", "1e55", "51a00", "--reason=known"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
    assert {each["status"] for each in listed(capsys).values()} == {"acknowledged"}


def test_the_author_is_the_option_else_the_environment_else_the_user(
    alarms: None, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def author(*options: str) -> object:
        assert main(["alarms", "ack", "51a0", "--reason=known", *options]) == 0
        capsys.readouterr()
        return listed(capsys)[SLOWER]["author"]

    assert author() == getpass.getuser()
    assert author("--author= ") == getpass.getuser()
    monkeypatch.setenv("MATBENCH_AUTHOR", "robot")
    assert author() == "robot"
    assert author("--author=ann") == "ann"


def test_a_user_without_a_name_has_to_say_who_it_is(
    alarms: None, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000)  # as in a container that nobody gave a user
    assert main(["alarms", "ack", "51a0", "--reason=known"]) == 2
    assert "nobody knows who you are here: use --author NAME or MATBENCH_AUTHOR" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["ack", "51a0"], "no reason given: use --reason TEXT"),
        (["resolve", "51a0", "--reason= "], "no reason given: use --reason TEXT"),
        (["resolve", "51a0", "--reason=…"], "'…' is no reason: say why, so that others know"),
        (["ack", "--reason=known"], "missing argument 'ID...'"),
        (["ack", "51a1", "--reason=known"], "there is no alarm '51a1': "),
        (["ack", "51a10000", "--reason=known"], "did you mean '51a000000000'?"),
        (["ack", "51a", "--reason=known"], "'51a' is too short for an id, of which 4 characters are needed"),
        (
            ["ack", "51a0", "--reason=known", "--until=2026-02-30"],
            "'2026-02-30' is neither",
        ),
        (["ack", "51a0", "--reason=known", "--until=2020-01-31"], "2020-01-31, which is in the past"),
        (["ack", "51a0", "--reason=known", "--until=yesterday"], ", which is in the past: the acknowledgement would"),
        (["ack", "51a0", "--reason=known", "--until="], "--until is empty"),
        (["ack", "51a0", "--reason=known", "--until=3 months"], "takes a version, or a date such as 2026-01-31"),
        (
            ["ack", "51a0", "--reason=known", "--until=2030-12-31T10:00"],
            "takes a version, or a date such as 2026-01-31",
        ),
        (["ack", "51a0", "--reason=known", f"--author={'x' * 300}"], "the author has 300 characters"),
        (["resolve", "f1ed", "--reason=done"], "alarm f1ed00000000 is fixed by 1.3.2"),
        (["reopen", "51a0"], "alarm 51a000000000 is open already"),
        (["resolve", "51a0", "--reason=x", "--until=1.4"], "no such option"),
        (["list", "--format=xml"], "'xml' is not one of 'table', 'json'"),
        (["lst"], "lst"),
        (["--history=sqlite:///none.db"], "there is no history 'none.db' yet"),
        (["ack", "51a0", "--reason=known", "--history=sqlite:///none.db"], "there is no history 'none.db' yet"),
    ],
)
def test_what_can_not_be_done_is_a_sentence_and_changes_nothing(
    alarms: None, arguments: list[str], sentence: str, capsys: Capture
) -> None:
    before = listed(capsys, "--all")
    assert main(["alarms", *arguments]) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert "Traceback" not in said
    assert listed(capsys, "--all") == before
    assert not Path("none.db").exists()


def test_the_beginning_of_several_ids_lists_them(keep: Keep, capsys: Capture) -> None:
    keep(event(1, alarm="abcd1111"), event(2, alarm="abcd2222"))
    assert main(["alarms", "ack", "abcd", "--reason=known"]) == 2
    assert "beginning of 2 alarms: abcd1111 (p95_latency), abcd2222 (p95_latency)" in capsys.readouterr().err


def test_hostile_text_is_shown_and_not_obeyed(keep: Keep, capsys: Capture) -> None:
    evil = "\x1b[31m[red]<b>\x07\x9b1mx\u202e"
    about = subject(kpi=evil, series=evil, first_bad=evil, unit=evil, workload=evil, labels={evil: evil})
    keep(event(1, alarm=SLOWER, about=about), event(2, alarm=LESS))
    assert main(["alarms", "ack", "51a0", f"--reason={evil}\n99990000 all fine", f"--author={evil}"]) == 0
    assert main(["alarms"]) == 0
    assert main(["alarms", "--format=json"]) == 0
    assert main(["alarms", "resolve", evil, "--reason=x"]) == 2
    said = capsys.readouterr()
    for char in "\x1b\x07\x9b\u202e":
        assert char not in said.out + said.err
    assert "[red]<b>" in said.out.replace("\n", "")
    assert not [line for line in said.out.splitlines() if line.startswith("99990000")]


def test_history_says_how_many_alarms_are_not_dealt_with(alarms: None, capsys: Capture) -> None:
    assert main(["history"]) == 0
    assert capsys.readouterr().out.endswith("Alarms: 2 open ('matbench alarms' lists them)\n")
    assert main(["alarms", "ack", "51a0", "--reason=known"]) == 0
    assert main(["history"]) == 0
    assert capsys.readouterr().out.endswith("Alarms: 1 open, 1 acknowledged ('matbench alarms' lists them)\n")
    assert main(["alarms", "resolve", "51a0", "1e55", "--reason=done"]) == 0
    capsys.readouterr()
    assert main(["history"]) == 0
    assert "Alarms" not in capsys.readouterr().out


def test_alarms_outlive_their_runs_and_move_with_them(alarms: None, capsys: Capture) -> None:
    assert main(["history", "export", "all.jsonl.gz"]) == 0
    assert "1 payloads and 4 events of alarms exported to all.jsonl.gz" in capsys.readouterr().err
    assert main(["history", "import", "all.jsonl.gz", "--history=sqlite:///b.db"]) == 0
    assert capsys.readouterr().out == "sqlite:///b.db: 1 run added; 4 events of alarms added\n"
    assert main(["history", "import", "all.jsonl.gz", "--history=sqlite:///b.db"]) == 0
    assert "0 events of alarms added, 4 there already" in capsys.readouterr().out
    assert main(["history", "prune", "--keep=0", "--delete"]) == 0
    capsys.readouterr()
    assert listed(capsys, "--all") == listed(capsys, "--all", "--history=sqlite:///b.db") != {}


@pytest.mark.xdist_group("opensearch")
def test_it_is_the_same_on_a_server(opensearch, alarms: None, capsys: Capture) -> None:
    there = f"--history={opensearch.url}/alarms-command"
    assert main(["history", "export", "all.jsonl"]) == 0
    assert main(["history", "import", "all.jsonl", there]) == 0
    assert main(["alarms", "ack", "51a0", "--reason=known", "--author=ann", there]) == 0
    capsys.readouterr()
    assert listed(capsys, there)[SLOWER]["status"] == "acknowledged"
    assert main(["history", there]) == 0
    assert "Alarms: 1 open, 1 acknowledged" in capsys.readouterr().out
    assert main(["history", "export", "back.jsonl", there]) == 0
    assert len(Path("back.jsonl").read_text().splitlines()) == len(Path("all.jsonl").read_text().splitlines()) + 1
