"""The open sockets of the server: closed together at its end, aborted if their clients do not read."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress

from aiohttp import WSCloseCode, web

from coevolve_environments.server.session_socket import SessionSocket

_SWEEP_SECONDS = 10.0
_CLOSE_SECONDS = 2.0


class OpenSockets:
    """Aborts sockets that were closing at the previous sweep already: `close` alone keeps a socket and its
    data until the client has read all of it, and clients may do neither that nor disconnect.
    """

    def __init__(self) -> None:
        self._sockets: set[SessionSocket] = set()
        self._closing: set[SessionSocket] = set()

    @contextmanager
    def track(self, socket: SessionSocket) -> Iterator[None]:
        self._sockets.add(socket)
        try:
            yield
        finally:
            if not socket.has_unread_data():
                self._sockets.discard(socket)

    async def close_all(self, _: web.Application) -> None:
        closing = (socket.close(WSCloseCode.SERVICE_RESTART) for socket in self._sockets)
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_SECONDS):
                await asyncio.gather(*closing)

    async def sweep_while_running(self, _: web.Application) -> AsyncIterator[None]:
        task = asyncio.create_task(self._sweep_forever())
        yield
        task.cancel()

    async def _sweep_forever(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            self._sockets = {socket for socket in self._sockets if socket.is_connected()}
            closing = {socket for socket in self._sockets if socket.is_closing()}
            for socket in closing & self._closing:
                socket.abort()
            self._closing = closing
