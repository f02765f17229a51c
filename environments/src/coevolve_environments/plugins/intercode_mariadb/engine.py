"""Runs SQL of a model on MariaDB: one connection per episode, as a user that can read one database."""

import re
import threading
from typing import Any

import pymysql
from pymysql.cursors import SSCursor

from coevolve_environments.plugins.intercode_mariadb.connection import MariadbConnection, user_of
from coevolve_environments.plugins.intercode_mariadb.server import MariadbServer
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

SQL_MODE = "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_AUTO_CREATE_USER,NO_ENGINE_SUBSTITUTION"
_FIXED_TIME = 1_735_689_600  # 2025-01-01: NOW() returns the same at every replay
_TIMED_OUT = 1969  # ER_STATEMENT_TIMEOUT
_CONNECTION_ERRORS = {0, 1053, 1152, 1158, 1159, 1160, 1161, 1184, 1927, *range(2000, 3000)}
_MAX_IDLE = 16  # connections per database
MAX_CHARACTERS = 10_000
_TOKENS = re.compile(
    r"""(?P<text>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")|(?P<comment>/\*.*?(?:\*/|\Z)|--(?=\s|\Z)[^\n]*|\#[^\n]*)""",
    re.DOTALL,
)
_READS = re.compile(
    r"\s*(?:\(|select\b|with\b|values\b|show\s+(?:tables|(?:full\s+)?(?:columns|fields))\b|desc(?:ribe)?\s)",
    re.IGNORECASE,
)
_REFUSED = re.compile(
    r"@|\b(?:into|information_schema|performance_schema|procedure|for\s+update)\b"
    r"|\b(?:rand|random_bytes|uuid\w*|sys_guid|sleep|benchmark|connection_id|load_file|\w+_lock|\w+_wait"
    r"|\w+_all_locks|row_count|found_rows|last_insert_id)\s*\(",
    re.IGNORECASE,
)


class MariadbEngine(Engine):
    """Shows the schema of the sqlite copies, so that it is the same on both engines.

    Connections are reused by the next episode on the same database. They have no state, because statements
    cannot set variables or create tables, and a new connection costs as much as ten queries.
    """

    def __init__(self, databases: Databases, server: MariadbServer) -> None:
        super().__init__(databases)
        self._server = server
        self._lock = threading.Lock()
        self._idle: dict[str, list[MariadbConnection]] = {}

    def open(self, name: str) -> "MariadbSandbox":
        return MariadbSandbox(self, name)

    def close(self) -> None:
        with self._lock:
            idle, self._idle = (
                [connection for connections in self._idle.values() for connection in connections],
                {},
            )
        for connection in idle:
            connection.drop()
        self._server.close()

    def acquire(self, name: str) -> MariadbConnection:
        path = self._server.socket()
        with self._lock:
            connections = self._idle.get(name, [])
            while connections:
                if (connection := connections.pop()).path == path:  # a restarted server has another socket
                    return connection
                connection.drop()
        return MariadbConnection(
            path,
            user=user_of(name),
            database=name.lower(),
            sql_mode=SQL_MODE,
            init_command=f"SET timestamp = {_FIXED_TIME}, time_zone = '+00:00'",
        )

    def release(self, name: str, connection: MariadbConnection) -> None:
        with self._lock:
            connections = self._idle.setdefault(name, [])
            if len(connections) < _MAX_IDLE:
                connections.append(connection)
                return
        connection.drop()


class MariadbSandbox:
    def __init__(self, engine: MariadbEngine, name: str) -> None:
        self._engine = engine
        self._name = name
        self._lock = threading.Lock()
        self._closed = False
        self._connection: MariadbConnection | None = engine.acquire(name)

    def run(self, sql: str) -> list[Row]:
        statement = reading_statement(sql)
        with self._lock:
            if self._closed:
                raise RuntimeError("the episode is closed")
            if self._connection is None:
                self._connection = self._engine.acquire(self._name)
            try:
                return self._fetch(self._connection.connection, statement)
            except pymysql.err.MySQLError as error:
                raise self._translated(error) from error
            except (UnicodeError, ValueError, OverflowError) as error:
                self._drop()  # stopped between two packets: the connection is unusable
                raise QueryError(str(error)) from error

    def close(self) -> None:
        self._closed = True
        if not self._lock.acquire(blocking=False):
            if (connection := self._connection) is not None:
                connection.interrupt()  # stops the statement of the other thread
            with self._lock:
                self._drop()
            return
        connection, self._connection = self._connection, None
        self._lock.release()
        if connection is not None:
            self._engine.release(self._name, connection)

    def _fetch(self, connection: Any, statement: str) -> list[Row]:
        """Reads row by row, so that a result above the limits is never held in memory."""
        rows: list[Row] = []
        size = 0
        cursor = connection.cursor(SSCursor)
        cursor.execute(statement)
        for row in cursor:
            rows.append(row)
            size += size_of(row)
            if is_too_large(rows, size):
                cursor._result.unbuffered_active = False  # otherwise it would read the rest of the result
                self._drop()
                raise QueryError(TOO_LARGE)
        cursor.close()
        return rows

    def _translated(self, error: pymysql.err.MySQLError) -> Exception:
        code, message = error.args[0], str(error.args[-1])
        if code == _TIMED_OUT:
            return QueryError(TOO_SLOW)
        if code in _CONNECTION_ERRORS or not isinstance(code, int):
            self._drop()
            return RuntimeError(f"the connection to mariadbd was lost: {message}")
        return QueryError(message)

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.drop()


def reading_statement(sql: str) -> str:
    """Returns the statement without comments, some of which would be executed, and without final semicolon.

    Data is protected by the database user, which may read only its own database. The filter rejects what
    would expose other episodes (information_schema lists their queries, variables persist), return different
    results at a replay, or only wait.

    Raises:
        QueryError: the statement does not read, or is rejected.
    """
    if len(sql) > MAX_CHARACTERS:
        raise QueryError(f"a statement has at most {MAX_CHARACTERS} characters")
    statement = _TOKENS.sub(lambda token: token["text"] or " ", sql).strip().rstrip(";").strip()
    if not _READS.match(statement):
        raise QueryError(NOT_A_QUERY)
    if refused := _REFUSED.search(_TOKENS.sub("''", statement)):
        raise QueryError(f"not allowed here: {refused[0].rstrip('( ')}")
    return statement
