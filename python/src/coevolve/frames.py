"""Rows as data frames, with one type per column also where there is no row."""

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import pandas as pd

from coevolve.errors import CoevolveError
from coevolve.transport import Row

if TYPE_CHECKING:
    import polars as pl

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


def to_polars(frame: pd.DataFrame) -> "pl.DataFrame":
    """Returns a frame of this package as a frame of polars.

    Objects, and lists with objects in them, become JSON texts, because polars needs one type per field.
    Needs `pip install 'coevolve[polars]'`.
    """
    try:
        import polars as pl
    except ImportError as error:
        raise CoevolveError("next: pip install 'coevolve[polars]'") from error
    plain = {name: flat(values) if values.dtype == object else values for name, values in frame.items()}
    return pl.from_pandas(pd.DataFrame(plain, columns=frame.columns))


def flat(values: pd.Series) -> pd.Series:
    """Returns a column of texts or of lists of scalars."""
    if not any(is_nested(value) for value in values):
        return values
    return values.map(lambda value: None if value is None else json.dumps(value, ensure_ascii=False))


def is_nested(value: object) -> bool:
    return isinstance(value, dict) or (
        isinstance(value, list) and any(isinstance(item, dict | list) for item in value)
    )
