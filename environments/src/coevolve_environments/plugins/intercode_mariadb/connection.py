"""Connections to the server over its unix socket, and the users that they are made as."""

import socket
from contextlib import suppress
from pathlib import Path
from typing import Any

import pymysql

MAX_SECONDS = 4.0
"""Of one statement of an episode, as the sqlite port's: what runs longer is ended by the server."""
_SILENCE_SECONDS = MAX_SECONDS + 20.0


def user_of(database: str) -> str:
    """The database user of an episode: it may SELECT from this database, and has no other privilege."""
    return f"read_{database.lower()}"


class Link:
    """A connection, and the socket below it, which another thread may shut down."""

    def __init__(self, path: Path, *, silence_seconds: float = _SILENCE_SECONDS, **options: Any) -> None:
        """
        Args:
            path: the server's socket.
            silence_seconds: longest wait for a byte of the server.
            options: PyMySQL's, such as user and database.

        Raises:
            OSError, pymysql.err.OperationalError: nobody answers there.
        """
        self.path = path
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            self._socket.settimeout(silence_seconds)
            self._socket.connect(str(path))
            self.connection = pymysql.connect(
                charset="utf8mb4",
                collation="utf8mb4_general_ci",
                autocommit=True,
                read_timeout=silence_seconds,
                write_timeout=silence_seconds,
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
        self.connection._force_close()  # `close` would first read what is left of an answer
        self._socket.close()
