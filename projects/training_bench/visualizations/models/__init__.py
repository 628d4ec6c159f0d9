"""Models of training_bench: the LTS payload and the KPIs."""
