"""What the tasks need of a database engine: the same 20 databases can be on sqlite or on a MariaDB server."""

from typing import Protocol

from coevolve_environments.plugins.intercode_sql.databases import Table

Row = tuple[object, ...]

MAX_ROWS = 10_000
MAX_BYTES = 4_000_000


class QueryError(Exception):
    """The statement failed or was refused; the message is what the policy reads."""


class Sandbox(Protocol):
    """One database, opened for one episode; `close` from another thread stops the statement that runs."""

    def run(self, sql: str) -> list[Row]:
        """All rows of one statement, in the engine's order.

        Raises:
            QueryError: refused, wrong, too slow or too large.
        """
        ...

    def close(self) -> None: ...


class Engine(Protocol):
    """Where queries run. Which databases and tables there are is the same on every engine: the dump's."""

    @property
    def names(self) -> tuple[str, ...]: ...

    def tables(self, name: str) -> tuple[Table, ...]: ...

    def open(self, name: str) -> Sandbox: ...

    def close(self) -> None: ...


def is_too_large(rows: list[Row], size: int) -> bool:
    return len(rows) > MAX_ROWS or size > MAX_BYTES


def size_of(row: Row) -> int:
    """Bytes that a row counts for: texts by their length, anything else eight a cell."""
    return sum(len(cell) if isinstance(cell, str | bytes) else 8 for cell in row)


TOO_LARGE = f"result is larger than {MAX_ROWS} rows or {MAX_BYTES} bytes"
TOO_SLOW = "query took too long"
NOT_A_QUERY = "not a query"
