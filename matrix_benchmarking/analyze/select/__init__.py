"""Who is compared with whom: the series of each KPI, in the order of their versions."""
