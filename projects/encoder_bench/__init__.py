"""encoder_bench: what 10⁹ classifications, embeddings or vision embeddings cost on an encoder server."""
