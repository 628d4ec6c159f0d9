"""What the answers say in sentences, the same in every report: a ranking, an analysis, a KPI's series, alarms."""
