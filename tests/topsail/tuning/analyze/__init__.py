COMPARISON_KEYS = ["version"]
IGNORED_KEYS = ["kpi_settings_version"]
SORTING_KEYS = ["model", "batch_size"]
IGNORED_ENTRIES = {"batch_size": [128]}
