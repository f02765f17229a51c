"""Prints the types and the rows of a Parquet file as JSON: read_parquet.py <file>."""

import json
import sys

import pyarrow.parquet as pq

table = pq.read_table(sys.argv[1])
meanings = {field.name: (field.metadata or {}).get(b"description", b"").decode() for field in table.schema}
types = {field.name: str(field.type) for field in table.schema}
print(json.dumps({"types": types, "meanings": meanings, "rows": table.to_pylist()}, default=str))
