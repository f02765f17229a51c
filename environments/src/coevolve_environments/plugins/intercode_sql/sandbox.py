"""Runs SQL of a model on sqlite: read-only, deterministic, with limits of time, memory and rows."""

import re
import sqlite3
import threading
import time

from coevolve_environments.plugins.intercode_sql.databases import Databases
from coevolve_environments.plugins.intercode_sql.engine import (
    NOT_A_QUERY,
    TOO_LARGE,
    TOO_SLOW,
    Engine,
    QueryError,
    Row,
    is_too_large,
    size_of,
)

_STEP = 5_000  # sqlite instructions between two calls of the progress handler
# 20 million instructions, about 0.3 s. A count instead of a time gives the same result on slow machines.
_MAX_STEPS = 4_000
_MAX_SECONDS = 8.0  # for work that the count does not include
_ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE}
# Not deterministic, or able to fill memory or to reach files.
_REFUSED_FUNCTIONS = {
    "random",
    "randomblob",
    "zeroblob",
    "load_extension",
    "fts3_tokenizer",
    "printf",
    "format",
}
_SHOW_TABLES = re.compile(r"^show\s+tables$", re.IGNORECASE)
_DESCRIBE = re.compile(r"^(?:describe|desc)\s+[`\"]?(\w+)[`\"]?$", re.IGNORECASE)


class SqliteEngine(Engine):
    """Gives every sandbox a private copy in memory, so that sandboxes do not affect each other."""

    def open(self, name: str) -> "SqliteSandbox":
        return SqliteSandbox(self._databases, name)

    def open_reversed(self, name: str) -> "SqliteSandbox":
        return SqliteSandbox(self._databases, name, self._databases.connect_reversed(name))

    def close(self) -> None:
        """Nothing to free."""


class SqliteSandbox:
    def __init__(self, databases: Databases, name: str, connection: sqlite3.Connection | None = None) -> None:
        self._tables = databases.tables(name)
        self._connection = connection or databases.connect(name)
        self._steps = 0
        self._deadline = 0.0
        self._closing = False
        self._lock = threading.Lock()
        _restrict(self._connection)
        self._connection.set_progress_handler(self._out_of_time, _STEP)

    def run(self, sql: str) -> list[Row]:
        statement = sql.strip().rstrip(";").strip()
        if _SHOW_TABLES.match(statement):
            return [(table.name,) for table in self._tables]
        if described := _DESCRIBE.match(statement):
            return self._describe(described.group(1).lower())
        try:
            with self._lock:
                self._steps, self._deadline = 0, time.monotonic() + _MAX_SECONDS
                return _fetch(self._connection.execute(statement))
        except sqlite3.OperationalError as error:
            raise QueryError(TOO_SLOW if str(error) == "interrupted" else str(error)) from error
        except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError) as error:
            raise QueryError(str(error)) from error

    def close(self) -> None:
        self._closing = True
        with self._lock:
            self._connection.close()

    def _describe(self, name: str) -> list[Row]:
        for table in self._tables:
            if table.name == name:
                return [(column.name, "text" if column.text else "number") for column in table.columns]
        raise QueryError(f"no such table: {name}")

    def _out_of_time(self) -> bool:
        self._steps += 1
        return self._closing or self._steps > _MAX_STEPS or time.monotonic() > self._deadline


def _restrict(connection: sqlite3.Connection) -> None:
    connection.execute("pragma query_only = on")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 100_000)
    connection.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, 10_000)
    connection.setlimit(sqlite3.SQLITE_LIMIT_EXPR_DEPTH, 100)
    connection.setlimit(sqlite3.SQLITE_LIMIT_COMPOUND_SELECT, 20)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 200)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    connection.set_authorizer(_authorize)  # last, because it would reject the pragma above


def _authorize(action: int, _first: str | None, second: str | None, *_: str | None) -> int:
    if action in _ALLOWED:
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_FUNCTION and second not in _REFUSED_FUNCTIONS:
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


def _fetch(cursor: sqlite3.Cursor) -> list[Row]:
    if cursor.description is None:
        raise QueryError(NOT_A_QUERY)
    rows: list[Row] = []
    size = 0
    for row in cursor:
        rows.append(row)
        size += size_of(row)
        if is_too_large(rows, size):
            raise QueryError(TOO_LARGE)
    return rows
