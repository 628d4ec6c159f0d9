"""matbench: which configuration is cheapest, can I trust that number, did the new build make it worse?"""

__version__ = "0.1.0"
