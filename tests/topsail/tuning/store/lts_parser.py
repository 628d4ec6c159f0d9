import datetime as dt
import types


def generate_lts_payload(results, import_settings):
    payload = types.SimpleNamespace()
    payload.metadata = types.SimpleNamespace()
    payload.metadata.lts_schema_version = "1.0"
    payload.metadata.start = dt.datetime.fromisoformat(results.job.start)
    payload.metadata.end = dt.datetime.fromisoformat(results.job.end)
    payload.metadata.settings = types.SimpleNamespace(
        kpi_settings_version="1.0",
        model=import_settings["model"],
        batch_size=import_settings["batch_size"],
        version=results.version,
    )
    payload.results = types.SimpleNamespace(tokens_per_second=results.job.tokens / results.job.seconds)
    return payload


def get_kpi_labels(lts_payload):
    labels = dict(lts_payload.metadata.settings.__dict__)
    labels["@timestamp"] = lts_payload.metadata.start.isoformat()
    return labels
