"""The store of serving_bench: how a run's two curves are read."""

from matrix_benchmarking.store import BaseStore

from ..models import lts as models_lts
from . import parsers
from .parsers import implausible, warnings

__all__ = ["implausible", "local_store", "warnings"]

local_store = BaseStore(
    cache_filename=".matbench_serving_bench.cache",
    important_files=parsers.IMPORTANT_FILES,
    optional_files=parsers.OPTIONAL_FILES,
    parse_always=parsers.parse_always,
    parse_once=parsers.parse_once,
    lts_payload_model=models_lts.Payload,
    models_kpis=models_lts.KPIS,
    get_kpi_labels=models_lts.get_kpi_labels,
)
