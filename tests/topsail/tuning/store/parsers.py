import json
import types

from matrix_benchmarking.topsail import helpers_store_parsers

register_important_file = None  # set by the store

artifact_dirnames = types.SimpleNamespace()
artifact_dirnames.TUNING_DIR = "*__run_tuning"
artifact_dirnames.CAPTURE_DIR = "*__capture_state"
artifact_paths = types.SimpleNamespace()

IMPORTANT_FILES = [
    ".uuid",
    "config.yaml",
    f"{artifact_dirnames.TUNING_DIR}/job.json",
    f"{artifact_dirnames.CAPTURE_DIR}/version",
]


def parse_once(results, dirname):
    results.test_config = helpers_store_parsers.parse_test_config(dirname)
    results.job = _parse_job(dirname)
    results.version = _parse_version(dirname)


def parse_always(results, dirname, import_settings):
    results.batch = import_settings["batch_size"]


@helpers_store_parsers.ignore_file_not_found
def _parse_job(dirname):
    job = types.SimpleNamespace()
    with open(register_important_file(dirname, artifact_paths.TUNING_DIR / "job.json")) as f:
        vars(job).update(json.load(f))
    return job


@helpers_store_parsers.ignore_file_not_found
def _parse_version(dirname):
    with open(register_important_file(dirname, artifact_paths.CAPTURE_DIR / "version")) as f:
        return f.read().strip()
