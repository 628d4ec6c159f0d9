"""The verdict on each series, and the life of its alarms: detected, raised, acknowledged, fixed."""
