"""Models of encoder_bench: the LTS payload and the KPIs."""
