"""Models of serving_bench: the LTS payload and the KPIs."""
