"""An analysis as each reader needs it: Markdown, JUnit, code quality, OpenMetrics, JSON, summary YAML. Text out."""
