"""A history on an OpenSearch server, for a team: :mod:`.storage` is the engine, the rest how it talks to the server."""
