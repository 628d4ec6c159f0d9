"""matbench: which configuration is cheapest, can I trust that number, did the new build make it worse?"""

from .runs import open
from .version import __version__

__all__ = ["__version__", "open"]
