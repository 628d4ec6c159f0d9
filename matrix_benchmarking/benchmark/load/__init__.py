"""The load on a target: k6, its inputs and its records."""
