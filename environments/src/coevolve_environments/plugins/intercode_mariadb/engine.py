"""Runs SQL from a model on MariaDB: a connection for each episode, as a user that reads one database."""

import threading
from typing import Any

import pymysql
from pymysql.cursors import SSCursor

from coevolve_environments.plugins.intercode_mariadb.connection import Link, user_of
from coevolve_environments.plugins.intercode_mariadb.server import MariadbServer
from coevolve_environments.plugins.intercode_mariadb.statement import reading_statement
from coevolve_environments.plugins.intercode_sql.databases import Databases, Table
from coevolve_environments.plugins.intercode_sql.engine import (
    TOO_LARGE,
    TOO_SLOW,
    QueryError,
    Row,
    is_too_large,
    size_of,
)

SQL_MODE = "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_AUTO_CREATE_USER,NO_ENGINE_SUBSTITUTION"
_CLOCK = 1_735_689_600  # 2025-01-01: NOW() answers alike at every replay
_TIMED_OUT = 1969  # ER_STATEMENT_TIMEOUT
_CONNECTION_ERRORS = {0, 1053, 1152, 1158, 1159, 1160, 1161, 1184, 1927, *range(2000, 3000)}  # no statement's
_MOST_IDLE = 16  # connections of one database


class MariadbEngine:
    """Tables and columns are those of the sqlite copies, so that both engines show the same schema.

    Connections are kept for the next episode in the same database: they hold no state, because a statement
    can set no variable and make no table, and connecting costs as much as ten queries.
    """

    def __init__(self, databases: Databases, server: MariadbServer) -> None:
        self._databases = databases
        self._server = server
        self._lock = threading.Lock()
        self._idle: dict[str, list[Link]] = {}

    @property
    def names(self) -> tuple[str, ...]:
        return self._databases.names

    def tables(self, name: str) -> tuple[Table, ...]:
        return self._databases.tables(name)

    def open(self, name: str) -> "MariadbSandbox":
        return MariadbSandbox(self, name)

    def close(self) -> None:
        with self._lock:
            idle, self._idle = [link for links in self._idle.values() for link in links], {}
        for link in idle:
            link.drop()
        self._server.close()

    def acquire(self, name: str) -> Link:
        path = self._server.socket()
        with self._lock:
            links = self._idle.get(name, [])
            while links:
                if (link := links.pop()).path == path:  # a server that was started anew has another one
                    return link
                link.drop()
        return Link(
            path,
            user=user_of(name),
            database=name.lower(),
            sql_mode=SQL_MODE,
            init_command=f"SET timestamp = {_CLOCK}, time_zone = '+00:00'",
        )

    def release(self, name: str, link: Link) -> None:
        with self._lock:
            links = self._idle.setdefault(name, [])
            if len(links) < _MOST_IDLE:
                links.append(link)
                return
        link.drop()


class MariadbSandbox:
    def __init__(self, engine: MariadbEngine, name: str) -> None:
        self._engine = engine
        self._name = name
        self._lock = threading.Lock()
        self._closed = False
        self._link: Link | None = engine.acquire(name)

    def run(self, sql: str) -> list[Row]:
        statement = reading_statement(sql)
        with self._lock:
            if self._closed:
                raise RuntimeError("the episode was closed")
            if self._link is None:
                self._link = self._engine.acquire(self._name)
            try:
                return self._fetch(self._link.connection, statement)
            except pymysql.err.MySQLError as error:
                raise self._translated(error) from error
            except (UnicodeError, ValueError, OverflowError) as error:
                self._drop()  # between two packets: the connection cannot be used again
                raise QueryError(str(error)) from error

    def close(self) -> None:
        self._closed = True
        if not self._lock.acquire(blocking=False):
            if (link := self._link) is not None:
                link.interrupt()  # wakes the thread that waits for the statement
            with self._lock:
                self._drop()
            return
        link, self._link = self._link, None
        self._lock.release()
        if link is not None:
            self._engine.release(self._name, link)

    def _fetch(self, connection: Any, statement: str) -> list[Row]:
        """Reads row by row, so that an answer past the bounds is given up and never held."""
        rows: list[Row] = []
        size = 0
        cursor = connection.cursor(SSCursor)
        cursor.execute(statement)
        for row in cursor:
            rows.append(row)
            size += size_of(row)
            if is_too_large(rows, size):
                cursor._result.unbuffered_active = False  # or it would wait for the rest of the answer
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
        link, self._link = self._link, None
        if link is not None:
            link.drop()
