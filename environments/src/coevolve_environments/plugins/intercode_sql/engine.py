"""Interface of the database engines: the same 20 databases on sqlite or on a MariaDB server."""

from abc import ABC, abstractmethod
from typing import Protocol

from coevolve_environments.plugins.intercode_sql.databases import Databases, Table

Row = tuple[object, ...]

MAX_ROWS = 10_000
MAX_BYTES = 4_000_000


class QueryError(Exception):
    """The statement failed or was rejected. The policy reads the message."""


class Sandbox(Protocol):
    """One database, opened for one episode. `close` from another thread stops a running statement."""

    def run(self, sql: str) -> list[Row]:
        """Returns all rows of one statement, in the engine's order.

        Raises:
            QueryError: the statement is rejected, wrong, too slow, or its result is too large.
        """
        ...

    def close(self) -> None: ...


class Engine(ABC):
    """Runs queries. Databases and tables are the dump's on every engine."""

    def __init__(self, databases: Databases) -> None:
        self._databases = databases

    @property
    def names(self) -> tuple[str, ...]:
        return self._databases.names

    def tables(self, name: str) -> tuple[Table, ...]:
        return self._databases.tables(name)

    @abstractmethod
    def open(self, name: str) -> Sandbox: ...

    def open_reversed(self, name: str) -> Sandbox | None:
        """Opens a copy with the rows of all tables in reverse order; None if the engine has none."""
        return None

    @abstractmethod
    def close(self) -> None: ...


def is_too_large(rows: list[Row], size: int) -> bool:
    return len(rows) > MAX_ROWS or size > MAX_BYTES


def size_of(row: Row) -> int:
    """Returns the bytes of a row: texts count their length, other cells eight."""
    return sum(len(cell) if isinstance(cell, str | bytes) else 8 for cell in row)


TOO_LARGE = f"result is larger than {MAX_ROWS} rows or {MAX_BYTES} bytes"
TOO_SLOW = "query took too long"
NOT_A_QUERY = "not a query"
