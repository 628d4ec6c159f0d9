"""The plots and reports of serving_bench."""

PLOTS = ()
REPORTS = ()
