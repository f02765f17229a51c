"""What a session needs of its ASGI connection. Starlette's class also checks the order of all messages."""

from starlette.types import Message, Receive, Send
from starlette.websockets import WebSocketDisconnect


class SessionSocket:
    """Every call but `receive` raises WebSocketDisconnect where the peer is gone."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self.receive = receive
        self._send = send

    async def accept(self) -> None:
        await self.receive()  # websocket.connect
        await self._deliver({"type": "websocket.accept"})

    async def send_text(self, text: str) -> None:
        await self._deliver({"type": "websocket.send", "text": text})

    async def close(self, code: int) -> None:
        await self._deliver({"type": "websocket.close", "code": code})

    async def _deliver(self, message: Message) -> None:
        try:
            await self._send(message)
        except OSError:
            raise WebSocketDisconnect(1006) from None
