"""docs/coming-from-topsail.md, row by row: what stands on the right is so."""

from __future__ import annotations

import shutil
import types
from pathlib import Path
from typing import Any

import pytest
import topsail_command_rows  # noqa: F401  registers its checks
from builders import speed_files, speed_workload, write_test
from topsail_rows import CHECKS, ROWS, Said, arguments, file_of, of, parsed, payload_of, rendered, tree

from matrix_benchmarking import kpi, store
from matrix_benchmarking.errors import WorkloadError
from matrix_benchmarking.models import ExclusiveModel, getKPIsModel
from matrix_benchmarking.plotting import Plot, PlotsReport, Report, View
from matrix_benchmarking.plotting.static_html import StaticHTML
from matrix_benchmarking.store import BaseStore, config_get, parse_test_config, reader_store
from matrix_benchmarking.workload import Workload, load


def test_each_row_has_its_check() -> None:
    assert sorted(CHECKS) == sorted(ROWS)


@pytest.mark.parametrize("row", ROWS)
def test_a_row_is_true(row: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    CHECKS[row](tmp_path)


@pytest.fixture(autouse=True)
def said(capsys: pytest.CaptureFixture[str]) -> None:
    Said.capture = capsys


@of("The store registers itself")
def _(root: Path) -> None:
    file = file_of(root)
    assert load(str(file)).name == "rates"
    file.write_text(file.read_text().replace("workload = ", "another = "))
    with pytest.raises(WorkloadError, match="workload"):
        load(str(file))


@of("Store, models, KPIs and payload come before")
def _(root: Path) -> None:
    only = Workload(name="only", store=BaseStore(parse_once=lambda results, test_dir: setattr(results, "a", 1)))
    assert [entry.results.a for entry in store.parse_tree(only, tree(root, 1.0))] == [1]


@of("`BaseStore` parses")
def _(root: Path) -> None:
    assert not hasattr(BaseStore(parse_once=print), "parse")
    assert len(parsed(root, 1.0, 2.0)) == 2


@of("Only trees with `settings`")
def _(root: Path) -> None:
    lines = types.SimpleNamespace(
        file_names=("*.txt",),
        recognises=lambda head, name: head.startswith(b"speed"),
        read=lambda file: [("", {"vus": 1}, {"speed": float(Path(file).read_text().split()[1])})],
    )
    (root / "foreign").mkdir()
    (root / "foreign" / "a.txt").write_text("speed 3")
    (entry,) = store.parse_tree(Workload(name="foreign", store=reader_store([lines])), root / "foreign")
    assert entry.results.speed == 3.0


@of("`parse_once(results, dirname)`")
def _(root: Path) -> None:
    assert [entry.kpis for entry in parsed(root)] == [{"speed": 1.0}]
    assert [entry.kpis for entry in parsed(root, 5.0)] == [{"speed": 5.0}]  # what was opened has changed


@of("`artifact_paths`, a global")
def _(root: Path) -> None:
    (tree(root, 1.0) / "run0" / "001__run").mkdir()
    (tree(root, 1.0) / "run0" / "001__run" / "result.json").write_text('{"speed": 7.0}')
    matrix = store.parse_tree(speed_workload(), root / "tree")
    assert [entry.kpis for entry in matrix] == [{"speed": 7.0}]
    assert matrix.notes == ["run0: 2 directories match '*__run'; 001__run is read"]


@of('`None / "file"`')
def _(root: Path) -> None:
    shutil.rmtree(tree(root, 1.0) / "run0" / "000__run")
    (entry,) = store.parse_tree(speed_workload(), root / "tree")
    assert entry.results.speed is None
    assert entry.problems == ()


@of("A damaged file, or an exception")
def _(root: Path) -> None:
    (tree(root, 1.0, 2.0) / "run0" / "000__run" / "result.json").write_text("{")
    damaged, whole = store.parse_tree(speed_workload(), root / "tree")
    assert len(damaged.problems) == 1
    assert (whole.problems, whole.kpis) == ((), {"speed": 2.0})


@of("A missing important file")
def _(root: Path) -> None:
    matrix = parsed(root, important_files=["needed.log"], optional_files=["other.log"])
    shown = rendered(speed_workload(), matrix, "Error report")
    assert "needed.log" in shown
    assert "other.log" not in shown


@of("`results.test_config.get")
def _(root: Path) -> None:
    files = {"config.yaml": "a: {b: 3}"}
    parse = {"parse_once": lambda results, test_dir: setattr(results, "found", parse_test_config(test_dir))}
    (entry,) = store.parse_tree(speed_workload(**parse), tree(root, 1.0, **files))
    assert config_get(entry.results.found, "a.b") == 3


@of("`results.test_uuid` is the parser")
def _(root: Path) -> None:
    first, second = parsed(root, 1.0, 2.0)
    assert first.test_uuid != second.test_uuid
    own = "6ba7b810-9dad-41d1-80b4-00c04fd430c8"
    (root / "tree" / "run0" / ".uuid").write_text(own)
    assert own in [entry.test_uuid for entry in store.parse_tree(speed_workload(), root / "tree")]


@of("Pickle cache")
def _(root: Path) -> None:
    calls: list[str] = []
    workload = speed_workload(calls)
    for _ in range(2):
        store.parse_tree(workload, tree(root, 1.0))
    assert len(calls) == 1
    tree(root, 2.0)
    store.parse_tree(workload, root / "tree")
    (cache,) = (root / "tree").rglob(".matbench_cache")
    assert len(calls) == 2
    cache.write_bytes(cache.read_bytes()[:-1])  # its checksum is wrong now
    store.parse_tree(workload, root / "tree")
    assert len(calls) == 3


@of("Settings are text")
def _(root: Path) -> None:
    for name in ("a", "b"):
        write_test(root / "tree" / name, {"vus": 1}, files=speed_files(1.0) | {"name": name})
    entries = store.parse_tree(speed_workload(), root / "tree")
    assert [entry.settings for entry in entries] == [{"vus": 1}] * 2


@of("Links are followed")
def _(root: Path) -> None:
    write_test(root / "elsewhere", {"vus": 9}, files=speed_files(9.0))
    tree(root, 1.0)
    (root / "tree" / "link").symlink_to(root / "elsewhere")
    assert [entry.settings["vus"] for entry in store.parse_tree(speed_workload(), root / "tree")] == [0]


@of("`KPIs = {}`, filled at import")
def _(root: Path) -> None:
    time = kpi.field_kpi("time_s", help="How long", unit="s", better="lower")
    assert list(kpi.collect([time])) == ["time_s"]


@of("`@KPIMetadata` innermost")
def _(root: Path) -> None:
    @kpi.KPIMetadata(name="1B_cost", help="Cost", unit="USD")
    @kpi.LowerBetter
    def outermost(lts: Any) -> float:
        return 1.0

    assert list(kpi.collect([outermost])) == ["1B_cost"]


@of("A forgotten direction")
def _(root: Path) -> None:
    file = file_of(root)
    file.write_text(file.read_text().replace("@kpi.HigherBetter\n", ""))
    with pytest.raises(WorkloadError, match="HigherBetter"):
        load(str(file))


@of("Each KPI is better in one direction")
def _(root: Path) -> None:
    assert payload_of(root, "@kpi.Higher", "@kpi.Neither")["kpis"]["rate"]["lower_better"] is None


@of("A KPI that fails is None")
def _(root: Path) -> None:
    payload = payload_of(root, "return lts.results.rate", 'raise kpi.UnknownKPI("no clock")')
    assert payload["kpis"] == {}
    assert payload["metadata"]["missing_kpis"] == {"rate": "no clock"}


@of("A KPI's value may be a list")
def _(root: Path) -> None:
    for value in ("[1.0]", 'float("inf")'):
        payload = payload_of(root, "return lts.results.rate", f"return {value}")
        assert list(payload["metadata"]["missing_kpis"]) == ["rate"]


@of("`class KPI(matbench_models.KPI, Settings)`")
def _(root: Path) -> None:
    class Settings(ExclusiveModel):
        vus: int

    found = kpi.collect([kpi.field_kpi("time_s", help="How long", better="lower")])
    assert list(getKPIsModel("KPIs", __name__, found, Settings).model_fields) == ["time_s"]


@of("Labels merged flat")
def _(root: Path) -> None:
    assert payload_of(root)["kpis"]["rate"]["labels"] == {"version": "1.0"}


@of("`Metadata` is filled by hand")
def _(root: Path) -> None:
    metadata = payload_of(root)["metadata"]
    assert (metadata["workload"], metadata["exit_code"], metadata.get("start")) == ("rates", 0, None)


@of("A strict parse stops")
def _(root: Path) -> None:
    command = ["parse", *arguments(root), "--output-lts=lts.json"]
    for version in ("1.0", "1.2"):
        (root / "tree" / version / "rate.json").write_text("{")
    told = Said.by(*command, status=1)
    assert "1.0" in told and "1.2" in told and "1.1" not in told
    assert not (root / "lts.json").exists()


# Plots and reports


class Speeds(Plot):
    name = "Speeds"

    def draw(self, view: View) -> Any:
        assert self.matrix is view.matrix and view.workload.name == "speed"
        return None, f"{len(view.runs)} <runs> at {view.variables['vus']}"


class Both(PlotsReport):
    name = "report: Both"
    plots = (Speeds,)


class AsThere(Report):
    name = "report: As there"

    def do_plot(self, *args: Any) -> Any:
        return [self.Plot_and_Text("Speeds", args)]


@of("`common.Matrix`, a global")
def _(root: Path) -> None:
    assert "2 &lt;runs&gt; at [0, 1]" in page(root, "Both")


def page(root: Path, name: str) -> str:
    workload = speed_workload()
    drawn = Workload(name="speed", store=workload.store, plots=[Speeds], reports=[AsThere])
    return rendered(drawn, store.parse_tree(drawn, tree(root, 1.0, 2.0)), name.replace("Both", "Speeds"))


@of("`entry.settings.vus`")
def _(root: Path) -> None:
    (entry,) = parsed(root)
    assert (entry.settings["vus"], entry.results.speed) == (0, 1.0)


@of("Plots register in `__init__`")
def _(root: Path) -> None:
    drawn = Workload(name="speed", store=speed_workload().store, reports=[Both])
    assert "2 &lt;runs&gt;" in rendered(drawn, store.parse_tree(drawn, tree(root, 1.0, 2.0)), "Both")


@of('`return {}, "ERROR')
def _(root: Path) -> None:
    shown = page(root, "Both")
    assert "<p>2 &lt;runs&gt;" in shown
    assert 'class="figure"' not in shown


@of("`report.Plot_and_Text(name, args)`")
def _(root: Path) -> None:
    assert "<h2 " in page(root, "As there") and "2 &lt;runs&gt;" in page(root, "As there")


@of("Any Dash component")
def _(root: Path) -> None:
    from dash import dcc, html

    shown = StaticHTML().render(html.Div([html.P("<b>"), dcc.Slider(0, 1), html.P("last")]))
    assert "<p>&lt;b&gt;</p>" in shown and "has a Slider" in shown and "<p>last</p>" in shown
