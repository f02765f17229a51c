"""The ASGI connection of a session. Starlette's WebSocket class also validates the order of all messages."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.types import Message, Receive, Send
from starlette.websockets import WebSocketDisconnect

Result = TypeVar("Result")


class SessionSocket:
    """Sends and receives text messages, and detects a client that disconnects during a call."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self._next_event: asyncio.Task[Message] | None = None

    async def accept(self) -> None:
        await self._receive()  # websocket.connect
        await self._deliver({"type": "websocket.accept"})

    async def receive_text(self) -> str:
        """Returns the next message; empty for a binary message, which is not JSON.

        Raises:
            WebSocketDisconnect: the socket has closed.
        """
        if self._next_event is None:
            event = await self._receive()
        else:
            event = await self._next_event
            self._next_event = None
        if event["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(event.get("code", 1006))
        text = event.get("text")
        return text if isinstance(text, str) else ""

    async def run_while_connected(self, call: Coroutine[Any, Any, Result]) -> Result:
        """Returns the result of the call, and cancels the call if the client disconnects first.

        Raises:
            WebSocketDisconnect: the socket has closed.
        """
        work = asyncio.ensure_future(call)
        if self._next_event is None:
            self._next_event = asyncio.ensure_future(self._receive())
        try:
            await asyncio.wait({work, self._next_event}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done() and self._next_event.result()["type"] == "websocket.disconnect":
                raise WebSocketDisconnect(self._next_event.result().get("code", 1006))
            return await work
        finally:
            await _cancel(work)

    async def send_text(self, text: str) -> None:
        await self._deliver({"type": "websocket.send", "text": text})

    async def close(self, code: int) -> None:
        await self._deliver({"type": "websocket.close", "code": code})

    def stop_receiving(self) -> None:
        if self._next_event is not None:
            self._next_event.cancel()

    async def _deliver(self, message: Message) -> None:
        """
        Raises:
            WebSocketDisconnect: the client has disconnected.
        """
        try:
            await self._send(message)
        except OSError:
            raise WebSocketDisconnect(1006) from None


async def _cancel(work: asyncio.Future[Any]) -> None:
    """Cancels and waits: a call that returned in the same instant may have opened an episode."""
    if not work.done():
        work.cancel()
        await asyncio.wait({work})
    if not work.cancelled():
        work.exception()  # marks the exception as retrieved
