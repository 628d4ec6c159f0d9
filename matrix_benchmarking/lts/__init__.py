"""Long-term storage: strict payloads, their JSON Schema, OpenMetrics text and the table of entries.

Everything here gets a matrix and gives bytes in a stream, or says what stands in the way.
"""

from .facts import facts_of_entry
from .good_runs import GoodRuns, listed, versions_without
from .labels import label_names, refused_settings
from .openmetrics import write_openmetrics
from .payloads import payload_document, validate, write_payloads
from .read import Source, matrix_of, read_matrix
from .schema import payload_schema
from .table import check_table_file, write_table

__all__ = [
    "GoodRuns",
    "Source",
    "check_table_file",
    "facts_of_entry",
    "label_names",
    "listed",
    "matrix_of",
    "payload_document",
    "payload_schema",
    "read_matrix",
    "refused_settings",
    "validate",
    "versions_without",
    "write_openmetrics",
    "write_payloads",
    "write_table",
]
