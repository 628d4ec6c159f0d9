"""What is PostgreSQL's own, on the genuine server: faults, rights, versions, and locations without secrets."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from history_support.alarms import event
from history_support.payloads import payload, test_id
from history_support.postgresql_server import PASSWORD, PostgreSQLServer
from history_support.uploads import kept_at, kill_after, payloads, series, writer
from requirements import missing

from matrix_benchmarking import history
from matrix_benchmarking.history import HistoryError, UnavailableError, delivery, location, record
from matrix_benchmarking.history.delivery import Outbox

pytestmark = pytest.mark.xdist_group("postgresql")


@pytest.fixture
def place(new_place) -> history.Location:
    return new_place("postgresql")


@pytest.fixture
def admin(postgresql: PostgreSQLServer) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgresql.url, autocommit=True) as connection:
        yield connection


def opened(place, *, writable=True):
    return history.open_history(place, writable=writable)


def as_role(place, name: str):
    return location.parse(str(place).replace("matbench@", f"{name}@"), {})[0]


def role(admin: psycopg.Connection, place, name: str, rights: str) -> None:
    """Make the role *name* afresh, with *rights* on the tables of *place*."""
    admin.execute(f"DO $$ BEGIN CREATE ROLE {name} LOGIN PASSWORD '{PASSWORD}'; EXCEPTION WHEN OTHERS THEN END $$")
    admin.execute(f"GRANT USAGE ON SCHEMA {place.schema} TO {name}")
    admin.execute(f"GRANT {rights} ON ALL TABLES IN SCHEMA {place.schema} TO {name}")


def test_a_server_that_is_away_gets_everything_when_it_is_back(postgresql, place, outboxes):
    delivery.upload(writer(1), place, outboxes)
    postgresql.crash()
    try:
        with pytest.raises(delivery.UndeliveredError, match=r"is away, or refuses us: .*refused(.|\n)*2 runs wait"):
            delivery.upload(writer(2, 3), place, outboxes)
        with pytest.raises(UnavailableError, match="is away"):
            opened(place, writable=False)
    finally:
        postgresql.start()
    assert delivery.flush(place, outboxes).added == 2
    assert kept_at(place) == (3, 3)


def test_a_server_that_crashes_in_the_middle_of_an_upload_gets_the_rest_later(postgresql, place, outboxes):
    count, crashed = 3000, []

    def crash(done, total):
        if done >= 1000 and not crashed:
            crashed.append(done)
            postgresql.crash()

    try:
        with pytest.raises(delivery.UndeliveredError):
            delivery.upload(writer(*range(count)), place, outboxes, progress=crash)
    finally:
        postgresql.start()
    assert Outbox(outboxes, str(place)).pending() == count - 1000
    pushed = delivery.flush(place, outboxes)
    assert pushed.added + pushed.unchanged == count - 1000
    assert kept_at(place) == (count, count)


def test_a_read_that_breaks_off_is_no_shorter_history(postgresql, place):
    with opened(place) as kept:
        kept.push(record(payload(number)) for number in range(3000))
        reading = kept.runs()
        next(reading)
        postgresql.crash()
        try:
            with pytest.raises(UnavailableError):
                list(reading)
        finally:
            postgresql.start()


def test_a_client_killed_at_any_moment_leaves_whole_runs_only(place, tmp_path):
    script = (
        "from history_support.payloads import payload\n"
        "from matrix_benchmarking.history import location, open_history, record\n"
        f"place, _ = location.parse({str(place)!r}, {{}})\n"
        "with open_history(place, writable=True) as kept:\n"
        "    print('ready', flush=True)\n"
        "    for start in range(0, 10**6, 50):\n"
        "        kept.push(record(payload(n)) for n in range(start, start + 50))\n"
    )
    kill_after(script, "ready", then=random.Random(3).uniform(0.2, 0.5))
    deadline = time.monotonic() + 20
    while True:  # what was sent last may still be under way
        with opened(place) as kept:
            count, whole = sum(1 for _ in kept.runs()), len(payloads(kept))
        if count == whole and count % 50 == 0:
            break
        assert time.monotonic() < deadline
    with opened(place) as kept:
        assert kept.push([record(payload(10**7))]).added == 1


def test_many_that_make_and_fill_a_history_at_once_lose_and_double_nothing(place):
    barrier, outcomes = threading.Barrier(4), []

    def push():
        barrier.wait()
        with opened(place) as kept:
            outcomes.append(kept.push(record(payload(number)) for number in range(200)))

    threads = [threading.Thread(target=push) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(each.added for each in outcomes) == 200
    assert sum(each.unchanged for each in outcomes) == 600
    assert kept_at(place) == (200, 200)


def test_what_is_read_while_others_write_is_one_state(place):
    with opened(place) as kept, opened(place, writable=False) as reader:
        kept.push(record(payload(number)) for number in range(1500))
        reading = reader.records()
        next(reading)
        kept.delete([test_id(number) for number in range(100)])
        kept.push(record(payload(number)) for number in range(2000, 2100))
        assert [each.payload["results"]["number"] for each in reading] == list(range(1498, -1, -1))


def test_a_wrong_password_is_a_sentence_without_it(place, admin, outboxes, monkeypatch):
    with opened(place):
        role(admin, place, "secret", "SELECT")
    secret = as_role(place, "secret")
    monkeypatch.setenv("PGPASSWORD", "not-the-right-one")
    with pytest.raises(UnavailableError, match="password authentication failed for user") as caught:
        opened(secret, writable=False)
    assert "not-the-right-one" not in str(caught.value)
    monkeypatch.delenv("PGPASSWORD")
    with pytest.raises(UnavailableError, match="no password supplied"):
        opened(secret, writable=False)


def test_a_password_comes_from_a_file(place, admin, tmp_path, monkeypatch):
    with opened(place) as kept:
        kept.push([record(payload(1))])
        role(admin, place, "secret", "SELECT")
    path = tmp_path / "pgpass"
    path.write_text(f"127.0.0.1:*:*:secret:{PASSWORD}\n")
    path.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(path))
    with opened(as_role(place, "secret"), writable=False) as kept:
        assert [run.id for run in kept.runs()] == [test_id(1)]
        assert PASSWORD not in kept.location


def test_a_role_that_may_only_read_reads_and_is_told_what_it_may_not(place, admin):
    with opened(place) as kept:
        kept.push([record(payload(1))])
        kept.record_alarms([event(1)])
    role(admin, place, "reader", "SELECT")
    for writable in (False, True):
        with opened(as_role(place, "reader"), writable=writable) as kept:
            assert (series(kept), kept.alarm_events()) == ({"speed": 1}, [event(1)])
            with pytest.raises(HistoryError, match=r"permission denied|read-only"):
                kept.push([record(payload(2))])
            with pytest.raises(HistoryError, match=r"permission denied|read-only"):
                kept.delete([test_id(1)])


def test_a_role_that_may_nothing_is_told_so(place, admin):
    role_without = as_role(place, "nobody_much")
    admin.execute("DO $$ BEGIN CREATE ROLE nobody_much LOGIN; EXCEPTION WHEN OTHERS THEN END $$")
    with pytest.raises(HistoryError, match="permission denied for database"):
        opened(role_without)


def test_a_schema_of_another_program_is_refused_and_untouched(place, admin):
    admin.execute(f"CREATE SCHEMA {place.schema}")
    admin.execute(f"CREATE TABLE {place.schema}.photos (name TEXT)")
    for writable in (True, False):
        with pytest.raises(HistoryError, match=f"schema '{place.schema}' of .* is another program's: name another"):
            opened(place, writable=writable)
    found = admin.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", [place.schema]).fetchall()
    assert found == [("photos",)]


def test_a_newer_schema_is_refused(place, admin):
    with opened(place):
        pass
    admin.execute(f"UPDATE {place.schema}.history_version SET version = 99")
    for writable in (True, False):
        with pytest.raises(HistoryError, match=r"newer matbench \(schema 99; this one knows 1\): update matbench"):
            opened(place, writable=writable)


@pytest.fixture
def small_disk(postgresql, tmp_path) -> Iterator[Path | None]:
    """A file system of four MiB that the server may write to."""
    mount = Path(postgresql._directory) / "disk"
    mount.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(mount)]
    mounted = shutil.which("mount") and subprocess.run(command, capture_output=True, check=False)
    if not mounted or mounted.returncode:
        yield None
        return
    owner = os.stat(postgresql._directory)
    os.chown(mount, owner.st_uid, owner.st_gid)
    yield mount
    subprocess.run(["umount", "--lazy", str(mount)], check=True)


def test_a_full_disk_on_the_server_is_an_absence_that_ends(place, admin, small_disk, outboxes):
    if small_disk is None:
        missing("a small file system, which only root may mount")
    delivery.upload(writer(1), place, outboxes)
    admin.execute(f"CREATE TABLESPACE {place.schema} LOCATION '{small_disk}'")
    admin.execute(f"ALTER TABLE {place.schema}.runs SET TABLESPACE {place.schema}")
    with pytest.raises(delivery.UndeliveredError, match="the server's disk is full or fails: could not extend file"):
        delivery.upload(writer(*range(2, 6000), labels={"x": random.Random(1).randbytes(800).hex()}), place, outboxes)
    admin.execute(f"ALTER TABLE {place.schema}.runs SET TABLESPACE pg_default")
    admin.execute(f"DROP TABLESPACE {place.schema}")
    delivery.flush(place, outboxes)
    assert kept_at(place) == (5999, 5999)


def test_people_can_read_it_with_sql_alone(place, admin):
    with opened(place) as kept:
        kept.push([record(payload(1, {"speed": 3, "height": 2.5}))])
    text = (
        f"SELECT id, kpi.key, (kpi.value ->> 'value')::float FROM {place.schema}.payloads, "
        "json_each(payload::json -> 'kpis') kpi"
    )
    assert admin.execute(text).fetchall() == [(test_id(1), "speed", 3.0), (test_id(1), "height", 2.5)]


class TestLocations:
    @pytest.mark.parametrize(
        "text",
        [
            "postgresql://ann:secret@host/db",
            "postgresql://ann:sec#ret@host/db",
            "postgresql://host/db?sslpassword=secret",
            "postgresql://ann:12?secret@host/db",
            "postgresql://ann:sec/ret@host/db",
            "postgresql://host/db?password=secret",
            "POSTGRESQL://ann:secret@host/db",
        ],
    )
    def test_a_password_in_it_is_refused_and_not_shown(self, text):
        with pytest.raises(HistoryError, match="give it in PGPASSWORD") as caught:
            location.parse(text, {})
        assert "secret" not in str(caught.value)
        assert "ret@" not in str(caught.value)

    def test_it_names_user_database_and_schema(self):
        found, warnings = location.parse("postgresql://ann@localhost:5433/runs?schema=team_a", {})
        assert str(found) == "postgresql://ann@localhost:5433/runs?schema=team_a"
        assert (found.url, found.schema, found.tls, warnings) == (
            "postgresql://ann@localhost:5433/runs",
            "team_a",
            {},
            [],
        )
        assert str(location.parse("postgresql://localhost/runs", {})[0]) == "postgresql://localhost/runs"

    @pytest.mark.parametrize(
        ("text", "sentence"),
        [
            ("postgresql://host/db?schema=A;drop", "can't be the name of a schema"),
            ("postgresql://host/db?color=red", "is no location in PostgreSQL"),
        ],
    )
    def test_a_wrong_one_is_a_sentence(self, text, sentence):
        with pytest.raises(HistoryError, match=sentence):
            location.parse(text, {})

    def test_a_server_elsewhere_has_to_prove_who_it_is(self, tmp_path, monkeypatch):
        monkeypatch.setenv("HOME", str(tmp_path))
        verified = {"sslmode": "verify-full", "sslrootcert": "system"}
        assert location.parse("postgresql://db.example.org/runs", {})[0].tls == verified
        assert location.parse("postgresql:///runs", {"PGHOST": "db.example.org"})[0].tls == verified
        own = {"PGSSLROOTCERT": "/ca.pem"}
        assert location.parse("postgresql://db.example.org/runs", own)[0].tls == {"sslmode": "verify-full"}
        for here in ("postgresql://127.0.0.1/runs", "postgresql:///runs", "postgresql:///runs?host=/run/postgresql"):
            assert location.parse(here, {})[0].tls == {}
        for said in ({"PGSSLMODE": "require"}, {"PGSSLMODE": "prefer"}):
            found, (warning,) = location.parse("postgresql://db.example.org/runs", said)
            assert (found.tls, "is not verified" in warning) == ({}, True)

    def test_a_driver_that_is_missing_says_how_to_get_it(self, monkeypatch):
        monkeypatch.setitem(__import__("sys").modules, "matrix_benchmarking.history.postgresql", None)
        with pytest.raises(HistoryError, match=r"pip install 'matrix-benchmarking\[postgresql\]'"):
            location.parse("postgresql://localhost/db", {})
