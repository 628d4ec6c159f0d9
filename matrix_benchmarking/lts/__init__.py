"""Long-term storage: strict payloads, their JSON Schema, files of a whole matrix."""

from .exports import check_table_file, write_matrix, write_openmetrics, write_reports, write_table
from .good_runs import GoodRuns, listed, versions_without
from .payloads import (
    payload_document,
    payload_schema,
    refused_settings,
    validate,
    write_payloads,
)
from .read import labels_of_entry, read_matrix

__all__ = [
    "GoodRuns",
    "check_table_file",
    "labels_of_entry",
    "listed",
    "payload_document",
    "payload_schema",
    "read_matrix",
    "refused_settings",
    "validate",
    "versions_without",
    "write_matrix",
    "write_openmetrics",
    "write_payloads",
    "write_reports",
    "write_table",
]
