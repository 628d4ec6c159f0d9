"""Long-term storage: strict payloads, their JSON Schema, OpenMetrics text and the table of entries.

Everything here gets a matrix and gives bytes in a stream, or says what stands in the way.
"""

from .openmetrics import write_openmetrics
from .payloads import payload_document, validate, write_payloads
from .schema import payload_schema
from .table import check_table_file, write_table

__all__ = [
    "check_table_file",
    "payload_document",
    "payload_schema",
    "validate",
    "write_openmetrics",
    "write_payloads",
    "write_table",
]
