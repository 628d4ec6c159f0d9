"""A new workload: which files it is made of, from a template that is itself a working one, and writing them at once."""

from .content import Scaffold, check_name, in_checkout, standalone
from .write import check_free, write

__all__ = ["Scaffold", "check_free", "check_name", "in_checkout", "standalone", "write"]
