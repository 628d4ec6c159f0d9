"""The plots and reports of training_bench."""

from .reports import DataLoading

PLOTS = DataLoading.plots
REPORTS = (DataLoading,)
