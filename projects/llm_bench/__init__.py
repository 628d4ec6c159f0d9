"""llm_bench: what serving a language model costs and how fast it answers, from the files that other tools write."""
