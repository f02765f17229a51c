"""Connections to the server over its unix socket, and their database users."""

import socket
from contextlib import suppress
from pathlib import Path
from typing import Any

import pymysql

MAX_STATEMENT_SECONDS = 4.0
"""Time limit of one statement; the server ends longer ones."""
_READ_TIMEOUT_SECONDS = MAX_STATEMENT_SECONDS + 20.0


def user_of(database: str) -> str:
    """Returns the database user of an episode. Its only privilege is SELECT on this database."""
    return f"read_{database.lower()}"


class MariadbConnection:
    """A connection with its socket, which another thread may shut down."""

    def __init__(
        self, path: Path, *, read_timeout_seconds: float = _READ_TIMEOUT_SECONDS, **options: Any
    ) -> None:
        """
        Args:
            path: the server's socket.
            read_timeout_seconds: maximum wait for a byte of the server.
            options: PyMySQL's, such as user and database.

        Raises:
            OSError, pymysql.err.OperationalError: the connection failed.
        """
        self.path = path
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            self._socket.settimeout(read_timeout_seconds)
            self._socket.connect(str(path))
            self.connection = pymysql.connect(
                charset="utf8mb4",
                collation="utf8mb4_general_ci",
                autocommit=True,
                read_timeout=read_timeout_seconds,
                write_timeout=read_timeout_seconds,
                defer_connect=True,
                **options,
            )
            self.connection.connect(self._socket)
        except BaseException:
            self._socket.close()
            raise

    def interrupt(self) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def drop(self) -> None:
        self.connection._force_close()  # `close` would first read the rest of a result
        self._socket.close()
