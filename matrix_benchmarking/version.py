"""The version of this package; a room of its own, so that who writes it into a file imports nothing else."""

__version__ = "0.1.0"
