"""A history on an OpenSearch server, for a team: payloads in one index, each KPI as a flat document in another."""

from .history import OpenSearchHistory

__all__ = ["OpenSearchHistory"]
