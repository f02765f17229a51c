"""Queries and JSON lines as Parquet files.

Types are the database's own: integers of 16, 32 and 64 bits, floats of 32 and 64, timestamps of microseconds
in UTC, lists of numbers; null stays null. Rows are in memory a batch at a time, and a batch is a row group:
equal rows give equal files.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypedDict

import adbc_driver_postgresql.dbapi as postgres
import pyarrow as pa
import pyarrow.json as arrow_json
import pyarrow.parquet as pq
from adbc_driver_postgresql import StatementOptions

BATCH_BYTES = 32 * 2**20
"""Bytes of a batch in the wire format: some hundred thousand attempts, or some ten thousand turns."""


class Query(TypedDict):
    path: str
    """Name in the folder, with `{}` where files have a number."""
    query: str
    meanings: dict[str, str]
    """Description of each column, which its field carries as metadata."""


class Request(TypedDict):
    url: str
    folder: str
    queries: list[Query]
    """Read in one snapshot."""
    lines: dict[str, str]
    """Files of JSON lines, and the path of each one's Parquet file as in `Query`."""
    max_file_bytes: int
    """A file ends with the batch that reaches this size, if its path has a `{}`."""


class Written(TypedDict):
    path: str
    rows: int
    bytes: int


def write_files(request: Request) -> list[Written]:
    """Writes a Parquet file or several per query and file of lines; an empty result has one without rows."""
    folder = Path(request["folder"])
    limit = request["max_file_bytes"]
    written: list[Written] = []
    if request["queries"]:
        with postgres.connect(request["url"]) as connection, connection.cursor() as cursor:
            cursor.execute("set transaction isolation level repeatable read, read only")
            cursor.adbc_statement.set_options(
                **{StatementOptions.BATCH_SIZE_HINT_BYTES.value: str(BATCH_BYTES)}
            )
            for query in request["queries"]:
                cursor.execute(query["query"])
                batches = cursor.fetch_record_batch()
                schema = described(batches.schema, query["meanings"])
                written += write(folder, query["path"], schema, batches, limit)
    for source, path in request["lines"].items():
        with arrow_json.open_json(
            source, read_options=arrow_json.ReadOptions(block_size=BATCH_BYTES)
        ) as batches:
            written += write(folder, path, batches.schema, batches, limit)
    return written


def described(schema: pa.Schema, meanings: Mapping[str, str]) -> pa.Schema:
    """Replaces the database's metadata of each field by its description."""
    fields: Sequence[pa.Field] = list(schema)
    return pa.schema(pa.field(f.name, f.type, metadata={"description": meanings[f.name]}) for f in fields)


def write(
    folder: Path, path: str, schema: pa.Schema, batches: Iterator[pa.RecordBatch], limit: int
) -> list[Written]:
    written: list[Written] = []
    remaining = iter(batches)
    batch = next(remaining, None)
    while batch is not None or not written:
        name = path.format(f"{len(written):05d}")
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        rows = 0
        with target.open("wb") as file:
            with pq.ParquetWriter(file, schema, compression="zstd") as writer:
                while batch is not None and (name == path or file.tell() < limit):
                    writer.write_batch(pa.record_batch(batch.columns, schema=schema))
                    rows += batch.num_rows
                    batch = next(remaining, None)
            file.flush()
        written.append({"path": name, "rows": rows, "bytes": target.stat().st_size})
    return written
