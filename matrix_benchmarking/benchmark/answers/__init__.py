"""Whether the answers are right: ask some inputs again, compare with a reference, keep a few."""

from .answer import Answer, kept
from .ask import ask
from .compare import compare
from .files import ReferenceAnswers, read_reference, write_reference

__all__ = ["Answer", "ReferenceAnswers", "ask", "compare", "kept", "read_reference", "write_reference"]
