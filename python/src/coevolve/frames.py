"""Rows as data frames, with one type per column also where there is no row."""

from collections.abc import Iterable, Mapping

import pandas as pd

from coevolve.transport import Row

DTYPES = {"integer": "Int64", "number": "float64", "boolean": "boolean", "object": "object"}


def frame(rows: Iterable[Row], columns: Mapping[str, str]) -> pd.DataFrame:
    """Returns a frame of `rows`; `columns` are the types of the API by name, in their order."""
    listed = list(rows)
    return pd.DataFrame(
        {name: column([row.get(name) for row in listed], kind) for name, kind in columns.items()}
    )


def column(values: list[object], kind: str) -> pd.Series:
    if kind == "date-time":
        return pd.to_datetime(pd.Series(values, dtype="object"), utc=True, format="ISO8601").dt.as_unit("us")
    return pd.Series(values, dtype=DTYPES[kind])
