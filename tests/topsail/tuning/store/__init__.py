from matrix_benchmarking.topsail import helpers_store, store, store_simple

from ..models import kpi, lts
from . import lts_parser, parsers

local_store = helpers_store.BaseStore(
    cache_filename="cache.pickle",
    important_files=parsers.IMPORTANT_FILES,
    artifact_dirnames=parsers.artifact_dirnames,
    artifact_paths=parsers.artifact_paths,
    parse_always=parsers.parse_always,
    parse_once=parsers.parse_once,
    lts_payload_model=lts.Payload,
    generate_lts_payload=lts_parser.generate_lts_payload,
    models_kpis=kpi.KPIs,
    get_kpi_labels=lts_parser.get_kpi_labels,
)

parsers.register_important_file = local_store.register_important_file
is_important_file = local_store.is_important_file


def _rewrite_settings(settings):
    settings.pop("raw_lists", None)
    settings["model"] = settings.pop("model_path").split("/")[-1]
    return settings


store.register_custom_rewrite_settings(_rewrite_settings)
store_simple.register_custom_parse_results(local_store.parse_directory)
