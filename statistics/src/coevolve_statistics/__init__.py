"""Statistics of experiments: methods x seeds under matched effort. Procedures: docs/statistics.md."""

#: Version of the procedures; `analysisVersion` in src/domain/experiment/analysis.ts is the same number.
ANALYSIS_VERSION = 2
