"""What was measured, what describes it, what was computed: what becomes of a run of which one of them differs."""

from __future__ import annotations

import copy
import dataclasses
import io
import json
import shutil
from pathlib import Path

import pytest
from builders import speed_files, speed_workload, write_test
from history_support.before import PLACES, make_old_documents, make_old_file
from history_support.payloads import payload, test_id
from history_support.uploads import payloads, series

from matrix_benchmarking import history, lts, store, workload
from matrix_benchmarking.history import Pushed, read, record, sameness
from matrix_benchmarking.history.plan import Corrected, Refused
from matrix_benchmarking.history.sameness import Difference
from matrix_benchmarking.matrix import Matrix

SAMPLE = Path(__file__).parents[2] / "data" / "samples" / "encoder_bench"
SETTINGS = {"hw_type": "cpu-1", "vus": 8, "batch_size": 32}


def measured(number, measurement="", *, settings=SETTINGS, time=None, **kwargs):
    """The payload of a test whose artifacts are known; two *number*s with one *measurement* are one run."""
    made = payload(number, kwargs.pop("values", None), settings=settings, time=time, **kwargs)
    made["metadata"]["measurement"] = measurement or f"m{number}"
    made["metadata"]["repeat"] = 0
    return made


def recomputed(of, **kpis):
    """*of* with a new KPI and another result."""
    made = copy.deepcopy(of)
    made["results"]["energy"] = 7
    made["kpis"] |= {name: {**made["kpis"]["speed"], "value": value} for name, value in kpis.items()}
    return made


def described(of, **settings):
    """*of* with other settings, and labels."""
    made = copy.deepcopy(of)
    made["metadata"]["settings"] |= settings
    for kpi in made["kpis"].values():
        kpi["labels"] |= settings
    return made


def under(of, number):
    """*of* under the id of another test: that of one without a .uuid follows from its settings."""
    return dict(sameness.renamed(record(of), test_id(number)).payload)


def push(kept, *payloads, **options):
    expected = kept.foresee(map(record, payloads), replace=options.get("replace", False))
    pushed = kept.push(map(record, payloads), **options)
    if not options.get("are_copies"):
        assert expected == pushed
    return pushed


def shown(kept):
    return sorted(payloads(kept), key=lambda each: each["metadata"]["test_uuid"])


def the_reasons(pushed):
    return [each.reason for each in pushed.conflicts]


class TestOneRun:
    def test_a_newer_computation_takes_the_place_of_the_older_one_and_is_counted(self, kept):
        push(kept, measured(1), measured(2))
        first = {each.id: each.recorded for each in kept.records()}
        newer = [recomputed(measured(number), height=2.0) for number in (1, 2)]
        assert push(kept, *newer) == Pushed(recomputed=2)
        assert {each.id: each.recorded for each in kept.records()} == first
        assert series(kept) == {"speed": 2, "height": 2}
        assert push(kept, *newer) == Pushed(unchanged=2)

    def test_another_measurement_is_a_conflict(self, kept):
        push(kept, measured(1))
        other = recomputed(measured(1, "other"))
        assert the_reasons(push(kept, other)) == ["another content is kept under this id"]
        assert shown(kept) == [measured(1)]
        assert push(kept, other, replace=True) == Pushed(replaced=1)

    def test_a_run_that_another_workload_has_is_not_said_to_be_corrected_by_replacing_it(self, kept):
        push(kept, measured(1))
        for other in (measured(1, workload="other"), measured(1, "other", workload="other")):
            (refused,) = push(kept, other).conflicts
            assert refused.is_same_measurement
            assert refused.reason == (
                "a history keeps a run for one workload, and has it for 'speed': give 'other' a history of its own "
                "(`replace` takes the run from 'speed')"
            )

    def test_another_description_is_said_and_kept_where_that_is_wanted(self, kept):
        push(kept, measured(1, time="2026-03-01T12:00:00+00:00"))
        new = described(measured(1, time="2026-03-01T11:00:00+00:00"), batch_size="32", gpu="T4")
        said = "batch_size 32 instead of '32', gpu (not set) instead of T4, end 2026-03-01T12:00:00+00:00 instead of"
        (reason,) = the_reasons(push(kept, new))
        assert reason == f"the same measurement is kept with {said} 2026-03-01T11:00:00+00:00: `replace` corrects it"
        pushed = push(kept, new, replace=True)
        assert (pushed.replaced, [each.id for each in pushed.corrected]) == (1, [test_id(1)])
        assert shown(kept) == [new]
        assert push(kept, new) == Pushed(unchanged=1)

    def test_what_it_was_measured_together_with_is_its_description(self, kept):
        known, unknown = measured(1), measured(1)
        known["metadata"] |= {"campaign": "night", "round": 2}
        push(kept, known)
        (reason,) = the_reasons(push(kept, unknown))
        assert "campaign night instead of null, round 2 instead of null" in reason
        assert shown(kept) == [known]

    def test_the_same_time_in_another_zone_is_no_other_description(self, kept):
        push(kept, measured(1, time="2026-03-01T12:00:00Z"))
        assert push(kept, measured(1, time="2026-03-01T13:00:00+01:00")).conflicts == []

    def test_labels_say_nothing_of_a_run_without_kpis(self, kept):
        push(kept, measured(1, values={}))
        assert push(kept, measured(1)) == Pushed(recomputed=1)

    def test_labels_that_only_the_workload_knows_are_its_description(self, kept):
        push(kept, measured(1, labels={**SETTINGS, "kpi_settings_version": "1.0.0"}))
        (reason,) = the_reasons(push(kept, measured(1, labels={**SETTINGS, "kpi_settings_version": "2.0.0"})))
        assert "kpi_settings_version 1.0.0 instead of 2.0.0" in reason

    def test_the_types_of_labels_are_its_description(self, kept):
        push(kept, measured(1, labels={**SETTINGS, "beta": 1}))
        (reason,) = the_reasons(push(kept, measured(1, labels={**SETTINGS, "beta": True})))
        assert "beta 1 instead of true" in reason

    def test_a_run_without_bytes_is_another_one(self, kept):
        no_bytes = measured(1)
        no_bytes["metadata"]["measurement"] = None
        push(kept, no_bytes)
        assert len(push(kept, recomputed(no_bytes)).conflicts) == 1
        assert len(push(kept, recomputed(measured(1))).conflicts) == 1

    def test_an_older_schema_does_not_take_the_place_of_a_newer_one(self, kept):
        newer, older = measured(1), recomputed(measured(1))
        newer["metadata"]["lts_schema_version"] = "1.10"
        older["metadata"]["lts_schema_version"] = "1.9"
        push(kept, newer)
        (reason,) = the_reasons(push(kept, older))
        assert reason == "the same measurement is kept with other computations, which may be newer: `replace` goes back"
        assert push(kept, older, replace=True) == Pushed(replaced=1)
        assert push(kept, newer) == Pushed(recomputed=1)

    def test_copies_do_not_take_the_place_of_computations_of_the_same_schema(self, kept):
        push(kept, recomputed(measured(1)))
        assert len(push(kept, measured(1), are_copies=True).conflicts) == 1
        newer = measured(1)
        newer["metadata"]["lts_schema_version"] = "1.1"
        assert push(kept, newer, are_copies=True) == Pushed(recomputed=1)

    def test_a_kpi_that_can_not_be_kept_leaves_the_older_computation(self, kept):
        push(kept, measured(1))
        broken = recomputed(measured(1), height=1.0)
        broken["kpis"]["height"]["value"] = "high"
        assert [each.id for each in push(kept, broken, measured(2)).rejected] == [test_id(1)]
        assert measured(1) in shown(kept)


class TestAnotherId:
    """Settings of a test without a .uuid were corrected, so its id is another one."""

    def test_a_correction_is_said_and_takes_the_place_under_the_old_id(self, place):
        old, new = measured(1, "m"), described(measured(2, "m"), batch_size=64)
        with history.open_history(place, writable=True) as kept:
            push(kept, old)
            (first,) = [each.recorded for each in kept.records()]
            pushed = push(kept, new)
            reason = f"the same measurement is kept as {test_id(1)} with batch_size 32 instead of 64"
            assert pushed.conflicts == [Refused(test_id(2), f"{reason}: `replace` corrects it", True)]
            assert shown(kept) == [old]
            pushed = push(kept, new, replace=True)
            said = "batch_size 32 instead of 64"
            assert pushed == Pushed(replaced=1, corrected=[Corrected(test_id(1), test_id(2), said)])
            assert shown(kept) == [under(new, 1)]
            assert [each.recorded for each in kept.records()] == [first]
            assert [each.labels["batch_size"] for each in kept.summary().series] == [64]
        with history.open_history(place, writable=True) as kept:
            assert push(kept, new) == Pushed(unchanged=1)
            assert push(kept, recomputed(new, height=1.0)) == Pushed(recomputed=1)
            assert [run.id for run in kept.runs()] == [test_id(1)]
            assert len(push(kept, old).conflicts) == 1  # the tree of before

    def test_two_runs_of_one_upload_are_two_runs(self, kept):
        a, b = measured(1, "m"), described(measured(2, "m"), batch_size=64)
        push(kept, a)
        assert push(kept, b, a) == Pushed(added=1, unchanged=1)
        twins = [described(measured(number, "n"), batch_size=number) for number in (3, 4, 5)]
        push(kept, twins[0])
        assert push(kept, *twins[1:]) == Pushed(added=2)

    def test_of_two_runs_that_are_kept_none_is_taken(self, kept):
        push(kept, measured(1, "m"), measured(2, "m"))
        assert push(kept, described(measured(3, "m"), batch_size=64), replace=True) == Pushed(added=1)

    def test_of_two_that_are_kept_the_one_is_taken_that_the_upload_does_not_bring(self, kept):
        push(kept, measured(1, "m"), described(measured(2, "m"), batch_size=2))
        pushed = push(kept, described(measured(3, "m"), batch_size=3), measured(1, "m"), replace=True)
        assert [each.id for each in pushed.corrected] == [test_id(2)]

    @pytest.mark.parametrize("measurement", [None, "m*"])
    def test_a_measurement_that_does_not_identify_a_run_says_nothing(self, kept, measurement):
        a, b = measured(1), described(measured(2), batch_size=64)
        for each in (a, b):
            each["metadata"]["measurement"] = measurement
        push(kept, a)
        assert push(kept, b, replace=True) == Pushed(added=1)

    def test_equal_artifacts_of_another_time_are_a_repeat(self, kept):
        push(kept, measured(1, "m", time="2026-03-01T12:00:00+00:00"))
        assert push(kept, measured(2, "m", time="2026-03-02T12:00:00+00:00")) == Pushed(added=1)

    def test_another_workload_is_another_run(self, kept):
        push(kept, measured(1, "m"))
        assert push(kept, measured(2, "m", workload="other")) == Pushed(added=1)

    def test_corrections_are_found_across_chunks(self, kept):
        push(kept, *(measured(number) for number in range(600)))
        corrected = [described(measured(1000 + n, f"m{n}"), batch_size=64) for n in range(600)]
        pushed = push(kept, *corrected, replace=True)
        assert (pushed.replaced, len(pushed.corrected), len(list(kept.runs()))) == (600, 600, 600)


class TestRunsOfBefore:
    """Payloads that say nothing of their measurement are kept."""

    def of_before(self, number, **options):
        made = measured(number, **options)
        del made["metadata"]["measurement"]
        return made

    def test_the_same_run_parsed_again_is_there_and_is_known_by_its_measurement_from_then_on(self, kept):
        push(kept, self.of_before(1), self.of_before(2))
        assert push(kept, measured(1), measured(2)) == Pushed(unchanged=2)
        assert shown(kept) == sorted([measured(1), measured(2)], key=lambda each: each["metadata"]["test_uuid"])
        assert len(push(kept, described(measured(3, "m1"), batch_size=64)).conflicts) == 1

    def test_a_newer_computation_takes_their_place(self, kept):
        push(kept, self.of_before(1))
        assert push(kept, recomputed(measured(1), height=1.0)) == Pushed(recomputed=1)

    def test_with_an_id_of_its_own_the_results_have_to_be_the_same(self, kept):
        own = "0b0f7a4e-9d5c-4a63-8f2e-111111111111"
        push(kept, dict(sameness.renamed(record(self.of_before(1)), own).payload))
        new = sameness.renamed(record(measured(1)), own).payload
        assert len(push(kept, recomputed(dict(new))).conflicts) == 1
        with_kpi = copy.deepcopy(dict(new))
        with_kpi["kpis"]["height"] = {**with_kpi["kpis"]["speed"], "value": 1.0}
        assert push(kept, with_kpi) == Pushed(recomputed=1)

    def test_a_matbench_of_before_does_not_take_a_measurement_away(self, kept):
        push(kept, measured(1))
        assert push(kept, self.of_before(1)) == Pushed(unchanged=1)
        assert shown(kept) == [measured(1)]
        assert len(push(kept, recomputed(self.of_before(1))).conflicts) == 1

    def test_without_any_measurement_another_content_is_a_conflict_as_ever(self, kept):
        push(kept, self.of_before(1))
        assert len(push(kept, recomputed(self.of_before(1))).conflicts) == 1

    def test_without_any_measurement_a_direction_that_is_given_up_is_a_newer_computation(self, kept):
        old, new = payload(1), payload(1)
        new["kpis"]["speed"]["lower_better"] = None
        new["metadata"]["lts_schema_version"] = "1.1"
        push(kept, old)
        assert push(kept, new) == Pushed(recomputed=1)
        assert shown(kept) == [new]

    @pytest.mark.parametrize("schema", [1, 2])
    def test_in_a_file(self, tmp_path, schema):
        location = history.SQLiteLocation(make_old_file(tmp_path / "h.db", schema))
        with history.open_history(location, writable=False) as kept:
            assert kept.foresee([record(now(number)) for number in PLACES]) == Pushed(unchanged=5)
        with history.open_history(location, writable=True) as kept:
            self.check(kept)

    @pytest.mark.xdist_group("opensearch")
    def test_in_documents(self, at, opensearch):
        location = at(opensearch.url)
        make_old_documents(opensearch.url, location)
        with history.open_history(location, writable=True) as kept:
            self.check(kept)

    def check(self, kept):
        order = sorted(PLACES, key=lambda number: next(r for r in kept.records() if r.id == test_id(number)).recorded)
        assert order == [3, 1, 4, 2, 5]
        assert push(kept, *(now(number) for number in PLACES)) == Pushed(unchanged=5)
        assert push(kept, *(recomputed(now(number)) for number in PLACES)) == Pushed(recomputed=5)
        again = sorted(PLACES, key=lambda number: next(r for r in kept.records() if r.id == test_id(number)).recorded)
        assert again == order


def now(number):
    """A run of the histories of before as it is parsed now."""
    made = payload(number) if number == 5 else payload(number, time=None)
    made["metadata"]["measurement"] = f"m{number}"
    return made


def test_the_three_digests_are_independent():
    base = record(measured(1))
    for other, same in (
        (recomputed(measured(1)), ("measurement", "description")),
        (described(measured(1), batch_size=64), ("measurement", "computed")),
        (measured(1, "other"), ("description", "computed")),
        (measured(2, "m1", values={"speed": 11.0}), ("measurement", "description")),
    ):
        new = record(other)
        digests = {
            "measurement": base.measurement == new.measurement,
            "description": sameness.description(base) == sameness.description(new),
            "computed": sameness.computed_digest(base) == sameness.computed_digest(new),
        }
        assert {name for name, is_same in digests.items() if is_same} == set(same)
    assert sameness.difference(base, record(recomputed(measured(1)))) is Difference.COMPUTED


class TestATree:
    @pytest.fixture
    def speed(self):
        return speed_workload()

    def test_a_run_that_was_described_anew_is_there_once_beside_its_history(self, tmp_path, speed):
        write_test(tmp_path / "a", {"vus": 1}, files=speed_files(3))
        (before,) = store.parse_tree(speed, tmp_path)
        (tmp_path / "a" / "settings.yaml").write_text("vus: 2\n")
        current = store.parse_tree(speed, tmp_path)
        (after,) = current
        assert before.test_uuid != after.test_uuid
        assert before.measurement == after.measurement is not None
        before.kept_in = "somewhere"
        (merged,) = read.with_past(current, type(current)([before]))
        assert (merged.test_uuid, merged.location) == (before.test_uuid, after.location)
        assert merged.settings == {"vus": 2}

    def test_a_repeat_with_equal_artifacts_is_another_run_beside_its_history(self, tmp_path, speed):
        write_test(tmp_path / "a", {"vus": 1}, files=speed_files(3))
        (entry,) = store.parse_tree(speed, tmp_path)
        old, new = (dataclasses.replace(entry, test_uuid=test_id(number), span_us=(None, number)) for number in (1, 2))
        assert [each.test_uuid for each in read.with_past(Matrix([new]), Matrix([old]))] == [test_id(1), test_id(2)]


@pytest.fixture(scope="module")
def documents(tmp_path_factory):
    root = tmp_path_factory.mktemp("sample") / "tree"
    shutil.copytree(SAMPLE, root)
    encoder = workload.load("encoder_bench")
    spool = io.BytesIO()
    lts.GoodRuns(encoder, store.parse_tree(encoder, root), keep_going=False).write(spool)
    return [json.loads(line) for line in spool.getvalue().splitlines()]


class TestTheSample:
    """The committed measurements of ``encoder_bench``, whose runs have ids of their own."""

    def of_before(self, documents):
        made = copy.deepcopy(documents)
        for each in made:
            del each["metadata"]["measurement"]
        return made

    def test_each_measurement_is_one_of_its_own(self, documents):
        assert len({each["metadata"]["measurement"] for each in documents}) == len(documents) == 153

    def test_in_a_history_of_before_all_are_there(self, tmp_path, documents):
        with history.open_history(history.SQLiteLocation(tmp_path / "h.db"), writable=True) as kept:
            push(kept, *self.of_before(documents))
            assert push(kept, *documents) == Pushed(unchanged=153)
            assert push(kept, *documents) == Pushed(unchanged=153)

    def test_one_new_kpi_makes_no_conflict(self, tmp_path, documents):
        newer = copy.deepcopy(documents)
        for each in newer:
            each["kpis"]["joules"] = {**next(iter(each["kpis"].values())), "value": 1.0}
        for name, before in (("old", self.of_before(documents)), ("new", documents)):
            with history.open_history(history.SQLiteLocation(tmp_path / f"{name}.db"), writable=True) as kept:
                push(kept, *before)
                assert push(kept, *newer) == Pushed(recomputed=153)


class TestRowsOfATable:
    """What no option names of a table's row is kept beside its results, as ``row``; the ids and measurements differ."""

    def of_row(self, number, **row):
        made = measured(number, values={"speed": 10})
        made["results"] = {"speed": 10, "row": row}
        return made

    def test_a_row_with_a_new_column_is_no_new_run(self, kept):
        push(kept, self.of_row(1, night="a"), self.of_row(2, night="b"))
        again = self.of_row(11, night="a", note=None), self.of_row(12, night="b", note="warm")
        assert push(kept, *again) == Pushed(same_rows=2)
        assert [each["metadata"]["test_uuid"] for each in shown(kept)] == sorted([test_id(1), test_id(2)])

    def test_a_filled_cell_a_column_that_is_gone_and_another_index_make_no_new_run(self, kept):
        push(kept, self.of_row(1, **{"column 1": 0, "note": None, "night": "a"}))
        assert push(kept, self.of_row(2, **{"column 1": 7, "note": "warm"})) == Pushed(same_rows=1)

    @pytest.mark.parametrize(
        "other", [{"row": {"night": "b"}}, {"speed": 11, "row": {"night": "a"}}, {"row": None}, {"row": "night"}]
    )
    def test_another_cell_or_value_makes_another_run(self, kept, other):
        push(kept, self.of_row(1, night="a"))
        new = self.of_row(2, night="a")
        new["results"] |= other
        assert push(kept, new).added == 1

    def test_each_kept_run_is_one_row_only_and_what_the_upload_brings_by_itself_is_none(self, kept):
        push(kept, self.of_row(1, night="a"))
        both = self.of_row(2, night="a", note=1), self.of_row(3, night="a", note=2)
        assert push(kept, *both) == Pushed(added=1, same_rows=1, new=[])
        assert push(kept, self.of_row(4, note=3), self.of_row(1, night="a")).added == 1
