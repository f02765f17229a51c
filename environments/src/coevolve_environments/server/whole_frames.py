"""Frames of RFC 6455 (section 5.2) that come whole in one piece, as nearly all do."""

import struct

from websockets.frames import apply_mask  # type: ignore[attr-defined]  # in C where it can be

_FINAL = 0x80
_MASKED = 0x80
_TEXT = 0x81  # final, text
_CLOSE = 0x88  # final, close
_MASK_BYTES = 4
_GOODBYES = {struct.pack("!H", code): code for code in (1000, 1001)}


def whole_text(data: bytes, largest: int) -> str | None:
    """The text of the one whole masked frame that the bytes are; None when they are something else, its text
    has more than `largest` bytes or is no UTF-8.
    """
    if len(data) < 6 or data[0] != _TEXT or not data[1] & _MASKED:
        return None
    start, size = _extent(data)
    if start + size != len(data) or size > largest:
        return None
    try:
        return str(apply_mask(data[start:], data[start - _MASK_BYTES : start]), "utf8")
    except UnicodeDecodeError:
        return None


def whole_goodbye(data: bytes) -> int | None:
    """The code of the one close frame that the bytes are, where it says 1000 or 1001 and nothing besides."""
    if len(data) != 8 or data[0] != _CLOSE or data[1] != _MASKED | 2:
        return None
    return _GOODBYES.get(bytes(apply_mask(data[6:], data[2:6])))


def ends_between_frames(data: bytes) -> bool:
    """Whether the bytes, which begin with a frame, are whole frames and whole messages."""
    while data:
        if not data[0] & _FINAL or len(data) < 2 or not (data[1] & _MASKED):
            return False
        start, size = _extent(data)
        if start + size > len(data):
            return False
        data = data[start + size :]
    return True


def text_frame(text: str) -> bytes:
    """As a server sends it: unmasked."""
    payload = text.encode()
    size = len(payload)
    if size < 126:
        return bytes((_TEXT, size)) + payload
    if size < 65_536:
        return struct.pack("!BBH", _TEXT, 126, size) + payload
    return struct.pack("!BBQ", _TEXT, 127, size) + payload


def close_frame(code: int, reason: str = "") -> bytes:
    payload = struct.pack("!H", code) + reason.encode()[:120]
    return bytes((_CLOSE, len(payload))) + payload


def _extent(data: bytes) -> tuple[int, int]:
    """Where the payload of a masked frame begins, and its length in bytes."""
    size = data[1] & 0x7F
    if size < 126:
        return 2 + _MASK_BYTES, size
    wide = 2 if size == 126 else 8
    return 2 + wide + _MASK_BYTES, int.from_bytes(data[2 : 2 + wide], "big")
