"""The WebSocket of a session, and all open sockets of the server."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from aiohttp import WSCloseCode, WSMessage, WSMsgType, web

Result = TypeVar("Result")

MAX_MESSAGE_BYTES = 2**20
_PING_SECONDS = 25.0
"""Time without data after which the client is pinged. It must reply within half of this time."""
_CLOSE_SECONDS = 10.0
"""Time for the client's close frame."""
_SWEEP_SECONDS = 10.0
_CLOSE_SECONDS = 2.0


class Disconnected(Exception):
    """The client has closed the socket, or does not react."""


class SessionSocket:
    """Sends and receives text messages, and detects a client that disconnects during a call."""

    def __init__(self, request: web.Request) -> None:
        self.response = web.WebSocketResponse(
            timeout=_CLOSE_SECONDS,
            heartbeat=_PING_SECONDS,
            max_msg_size=MAX_MESSAGE_BYTES,
            autoclose=False,
            compress=False,
        )
        self._request = request
        self._next_message: asyncio.Task[WSMessage] | None = None

    async def open(self) -> None:
        """
        Raises:
            web.HTTPException: the handshake is invalid.
        """
        if self._request.headers.get("sec-websocket-version") != "13":  # aiohttp also accepts drafts 7 and 8
            raise web.HTTPUpgradeRequired(headers={"Sec-WebSocket-Version": "13"})
        await self.response.prepare(self._request)

    async def receive_text(self) -> str:
        """Returns the next message; empty for a binary message, which is not JSON.

        Raises:
            Disconnected: the socket has closed.
        """
        if self._next_message is None:
            message = await self.response.receive()
        else:
            message = await self._next_message
            self._next_message = None
        if message.type is WSMsgType.TEXT:
            return str(message.data)
        if message.type is WSMsgType.BINARY:
            return ""
        raise Disconnected

    async def run_while_connected(self, call: Coroutine[Any, Any, Result]) -> Result:
        """Returns the result of the call, and cancels the call if the client disconnects first.

        Raises:
            Disconnected: the socket has closed.
        """
        work = asyncio.ensure_future(call)
        if self._next_message is None:
            self._next_message = asyncio.ensure_future(self.response.receive())
        try:
            await asyncio.wait({work, self._next_message}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done() and self._next_message.result().type not in (WSMsgType.TEXT, WSMsgType.BINARY):
                raise Disconnected
            return await work
        finally:
            await _cancel(work)

    async def send_text(self, text: str) -> None:
        """Waits while the client does not read. `OpenSockets` aborts the connection if it does not respond.

        Raises:
            Disconnected: the client has disconnected.
        """
        try:
            await self.response.send_str(text)
        except OSError:
            raise Disconnected from None

    async def close(self, code: int | None = None) -> None:
        """Sends a close frame and waits at most 10 s for the client's. Does nothing if already closed.

        Args:
            code: None repeats the code of the client's close frame.
        """
        if self._next_message is not None:
            self._next_message.cancel()
        with suppress(OSError):
            await self.response.close(code=code or self.response.close_code or WSCloseCode.OK, drain=False)

    def is_connected(self) -> bool:
        return self._request.transport is not None

    def is_closing(self) -> bool:
        """Returns whether the connection only waits for the client to read the remaining data."""
        transport = self._request.transport
        return transport is not None and transport.is_closing()

    def has_unread_data(self) -> bool:
        transport = self._request.transport
        return transport is not None and transport.get_write_buffer_size() > 0

    def abort(self) -> None:
        if self._request.transport is not None:
            self._request.transport.abort()


async def _cancel(work: asyncio.Future[Any]) -> None:
    """Cancels and waits: a call that returned in the same instant may have opened an episode."""
    if not work.done():
        work.cancel()
        await asyncio.wait({work})
    if not work.cancelled():
        work.exception()  # marks the exception as retrieved


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
