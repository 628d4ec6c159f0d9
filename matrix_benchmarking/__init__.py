"""matbench: which configuration is cheapest, can I trust that number, did the new build make it worse?"""

from .errors import MatbenchError
from .runs import open
from .version import __version__

__all__ = ["MatbenchError", "__version__", "open"]
