"""Long-term storage: strict payloads, their JSON Schema, files of a whole matrix."""

from .exports import check_table_file as check_table_file
from .exports import write_matrix as write_matrix
from .exports import write_openmetrics as write_openmetrics
from .exports import write_reports as write_reports
from .exports import write_table as write_table
from .payloads import GoodRuns as GoodRuns
from .payloads import labels_of_entry as labels_of_entry
from .payloads import listed as listed
from .payloads import payload_document as payload_document
from .payloads import payload_schema as payload_schema
from .payloads import refused_settings as refused_settings
from .payloads import schema_version as schema_version
from .payloads import validate as validate
from .payloads import versions_without as versions_without
from .payloads import write_payloads as write_payloads
from .read import read_matrix as read_matrix
