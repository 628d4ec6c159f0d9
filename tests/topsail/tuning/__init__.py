"""A fine-tuning module in TOPSAIL's style; this file and the imports are what differs."""

from matrix_benchmarking import topsail

workload = topsail.workload(__name__)
