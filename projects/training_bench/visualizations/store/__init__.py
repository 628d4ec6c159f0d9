"""The store of training_bench: how its runs are read, in matbench's own layout and in the public one."""

from matrix_benchmarking.store import BaseStore, NativeLayout

from ..models import lts as models_lts
from . import lts_parser, parsers
from .lts_parser import implausible, warnings
from .run_directories import RunDirectories

__all__ = ["OPTIONS", "implausible", "local_store", "warnings"]

OPTIONS = {"warm_up_epochs": parsers.WARM_UP_EPOCHS}

local_store = BaseStore(
    cache_filename=".matbench_training_bench.cache",
    important_files=parsers.IMPORTANT_FILES,
    optional_files=parsers.OPTIONAL_FILES,
    artifact_dirnames=parsers.artifact_dirnames,
    layouts=(NativeLayout(), RunDirectories()),
    parse_always=parsers.parse_always,
    parse_once=parsers.parse_once,
    lts_payload_model=models_lts.Payload,
    generate_lts_payload=lts_parser.generate_lts_payload,
    models_kpis=models_lts.KPIS,
    get_kpi_labels=lts_parser.get_kpi_labels,
)
