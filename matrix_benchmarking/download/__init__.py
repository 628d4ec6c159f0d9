"""Downloads: results trees from directories, web servers, S3 and archives into a results directory.

The commands use what is exported here; the other modules of this package are the machinery.
"""

from ..download_record import is_downloaded
from .addresses import Address, Place, parse, read_list
from .fetch import Outcome
from .session import artifacts_directory, download, save_to_artifacts
from .wanted import Wish

__all__ = [
    "Address",
    "Outcome",
    "Place",
    "Wish",
    "artifacts_directory",
    "download",
    "is_downloaded",
    "parse",
    "read_list",
    "save_to_artifacts",
]
