"""Writes coevolve's campaigns in the formats whose libraries are Python's: Parquet and Inspect's logs."""
