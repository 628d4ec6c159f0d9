"""TOPSAIL's own ``matbench:`` block, read as it stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from matrix_benchmarking import config
from matrix_benchmarking.cli import main
from matrix_benchmarking.commands import pages

BLOCK = """
matbench:
  preset: null
  workload: projects.encoder_bench.visualizations
  prom_workload: projects.encoder_bench.visualizations_prom
  config_file: plots.yaml
  download: {mode: prefer_cache, url: , url_file: , save_to_artifacts: false}
  test_directory: null
  lts:
    generate: true
    horreum: {test_name: null}
    opensearch:
      export: {enabled: false, enabled_on_replot: false, fail_test_on_fail: true}
      instance: smoke
      index: topsail-encoders
      index_prefix: ""
      prom_index_suffix: -prom
    regression_analyses: {enabled: false, fail_test_on_regression: true}
"""


def test_the_block_is_read_as_it_stands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(BLOCK)
    assert config.load(file).lts.analyses.fail_test_on_regression
    assert main(["generate_lts_schema", f"--config={file}", f"--file={tmp_path / 'schema.json'}"]) == 0
    assert "prom_workload: it has no effect here" in capsys.readouterr().err
    assert (tmp_path / "schema.json").is_file()


def test_the_plots_file_is_looked_up_in_data_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    named, own = Path("plots.yaml"), tmp_path / "tune" / "visualizations" / "tuning" / "data" / "plots.yaml"
    assert pages.find_plots_file(named, None) == named
    own.parent.mkdir(parents=True)
    own.write_text("visualize: []")
    assert pages.find_plots_file(named, tmp_path / "tune") == own
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "plots.yaml").write_text("visualize: []")
    assert pages.find_plots_file(named, tmp_path / "tune") == Path("data/plots.yaml")


def test_reports_in_the_form_of_an_address_are_names() -> None:
    asked = "stats=report: A&stats=report: B"
    assert pages.names_to_write([asked], [], None, "any") == ["report: A", "report: B"]
