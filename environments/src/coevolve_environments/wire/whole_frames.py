"""uvicorn's WebSocket protocol with a short way for what nearly every message is: one whole text frame."""

from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import apply_mask  # type: ignore[attr-defined]  # in C where it can be
from websockets.protocol import State

_TEXT = 0x81  # final, text (RFC 6455, section 5.2)
_FINAL = 0x80
_MASKED = 0x80
_MASK_BYTES = 4


class WholeFrames(WebSocketsSansIOProtocol):
    """Reads and writes whole text frames by itself and leaves all else to uvicorn: handshake, control frames,
    fragments, frames that come in pieces, errors. An action and its answer then take a sixth less time.

    The parser of uvicorn must not notice that frames pass it by, so they do only while it stands between two
    frames: once bytes went to it that end within a frame or message, all bytes of the connection do.
    """

    _between_frames = True

    def data_received(self, data: bytes) -> None:
        if self._between_frames and self.handshake_complete:
            if (text := self._text_of(data)) is not None:
                self.curr_msg_data_type = "text"
                self.frames = [text]
                self.send_receive_event_to_app()
                return
            self._between_frames = _ends_between_frames(data)
        elif not self.handshake_complete:  # a client that does not wait for the answer to its handshake
            self._between_frames = not self.handshake_initiated and data.endswith(b"\r\n\r\n")
        super().data_received(data)

    async def send(self, message: Any) -> None:
        await self.writable.wait()
        text = message.get("text") if message["type"] == "websocket.send" else None
        if text is not None and self._is_open():
            self.transport.write(_frame(text.encode()))
        else:
            await super().send(message)

    def _is_open(self) -> bool:
        """Whether messages go in and out: neither before the handshake nor once either side says goodbye."""
        said_goodbye = self.close_sent or self.disconnected or self.conn.state is not State.OPEN
        return self.handshake_complete and self.initial_response is None and not said_goodbye

    def _text_of(self, data: bytes) -> bytes | None:
        """The text of the one whole frame that the bytes are, None when they are something else."""
        if len(data) < 6 or data[0] != _TEXT or not data[1] & _MASKED or not self._is_open():
            return None
        start, size = _extent(data)
        if start + size != len(data) or size > self.config.ws_max_size:
            return None
        text = apply_mask(data[start:], data[start - _MASK_BYTES : start])
        try:
            text.decode()
        except UnicodeDecodeError:
            return None
        return bytes(text)


def _ends_between_frames(data: bytes) -> bool:
    """Whether the bytes, which begin with a frame, are whole frames and whole messages."""
    while data:
        if not data[0] & _FINAL or len(data) < 2 or not (data[1] & _MASKED):
            return False
        start, size = _extent(data)
        if start + size > len(data):
            return False
        data = data[start + size :]
    return True


def _extent(data: bytes) -> tuple[int, int]:
    """Where the payload of a masked frame begins, and its length in bytes."""
    size = data[1] & 0x7F
    if size < 126:
        return 2 + _MASK_BYTES, size
    wide = 2 if size == 126 else 8
    return 2 + wide + _MASK_BYTES, int.from_bytes(data[2 : 2 + wide], "big")


def _frame(payload: bytes) -> bytes:
    size = len(payload)
    if size < 126:
        return bytes((_TEXT, size)) + payload
    if size < 65_536:
        return bytes((_TEXT, 126)) + size.to_bytes(2, "big") + payload
    return bytes((_TEXT, 127)) + size.to_bytes(8, "big") + payload
