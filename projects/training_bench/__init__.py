"""training_bench: does a training wait for its data? Data-loading strategies at several I/O speeds."""
