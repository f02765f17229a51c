"""The incoming side of a session's socket."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.types import Message
from starlette.websockets import WebSocketDisconnect

from coevolve_environments.server.session_socket import SessionSocket

Result = TypeVar("Result")


class Inbox:
    """Gives the messages one after the other, and notices a peer that goes while it is being answered."""

    def __init__(self, socket: SessionSocket) -> None:
        self._socket = socket
        self._coming: asyncio.Task[Message] | None = None

    async def next(self) -> str:
        """The text of the next message, empty for a binary frame, which is not JSON.

        Raises:
            WebSocketDisconnect: the socket has closed.
        """
        if self._coming is None:
            event = await self._socket.receive()
        else:
            event = await self._coming
            self._coming = None
        if event["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(event.get("code", 1006))
        text = event.get("text")
        return text if isinstance(text, str) else ""

    async def unless_gone(self, answering: Coroutine[Any, Any, Result]) -> Result:
        """The result, unless the peer goes first: then the work is cancelled, since nobody waits for it.

        Raises:
            WebSocketDisconnect: the socket has closed.
        """
        work = asyncio.ensure_future(answering)
        if self._coming is None:
            self._coming = asyncio.ensure_future(self._socket.receive())
        try:
            await asyncio.wait({work, self._coming}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done() and self._coming.result()["type"] == "websocket.disconnect":
                raise WebSocketDisconnect(self._coming.result().get("code", 1006))
            return await work
        finally:
            await _end(work)

    def close(self) -> None:
        if self._coming is not None:
            self._coming.cancel()


async def _end(work: asyncio.Future[Any]) -> None:
    """Cancels and waits: a call that returned in the same instant goes on, and may have opened an episode."""
    if not work.done():
        work.cancel()
        await asyncio.wait({work})
    if not work.cancelled():
        work.exception()  # nobody else asks for it
