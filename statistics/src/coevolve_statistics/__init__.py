"""Statistics of experiments: methods x seeds under matched effort. Procedures: docs/statistics.md."""
