"""From a benchmark file to finished test directories: the plan, the targets, the load, the search."""
