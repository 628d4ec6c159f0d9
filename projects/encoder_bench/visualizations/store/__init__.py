"""The store of encoder_bench: how its runs, and those of the encoder-analysis study, are read."""

from matrix_benchmarking.store import BaseStore, NativeLayout

from ..models import lts as models_lts
from . import lts_parser, parsers
from .lts_parser import implausible, warnings
from .study import EncoderAnalysisLayout

__all__ = ["implausible", "local_store", "warnings"]

local_store = BaseStore(
    cache_filename=".matbench_encoder_bench.cache",
    important_files=parsers.IMPORTANT_FILES,
    optional_files=parsers.OPTIONAL_FILES,
    artifact_dirnames=parsers.artifact_dirnames,
    layouts=(NativeLayout(), EncoderAnalysisLayout()),
    parse_always=parsers.parse_always,
    parse_once=parsers.parse_once,
    lts_payload_model=models_lts.Payload,
    generate_lts_payload=lts_parser.generate_lts_payload,
    models_kpis=models_lts.KPIS,
    get_kpi_labels=lts_parser.get_kpi_labels,
)
