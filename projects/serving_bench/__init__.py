"""serving_bench: what a server makes of its hardware, from one configuration to the next."""
