"""A client of an environment server that plays episodes over a bare WebSocket with little CPU time.

All servers get the same bytes. An expensive client would hide the cost of the server, so frames are encoded
once per episode with a mask of zeros, which RFC 6455 (section 5.3) permits, and only the last observation of
an episode is parsed as JSON.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import struct
import time
from dataclasses import dataclass, field
from typing import Any

_TEXT, _CLOSE, _PING, _PONG = 1, 8, 9, 10
_CLOSING = struct.pack("!H", 1000)


@dataclass(frozen=True)
class EpisodeFrames:
    """One episode as frames: a reset, and a step per action."""

    frames: tuple[bytes, ...]


@dataclass
class Statistics:
    """Results of all clients of one run."""

    episodes: int = 0
    rewards: list[float] = field(default_factory=list)
    reset_ms: list[float] = field(default_factory=list)
    step_ms: list[float] = field(default_factory=list)
    refused: int = 0
    """Sockets without a free session; they are retried."""
    failure: str | None = None
    """The first unexpected message."""


class Player(asyncio.Protocol):
    """Plays one episode on a new socket, like a worker."""

    def __init__(self, url: str, token: str | None, episode: EpisodeFrames, statistics: Statistics) -> None:
        self.over: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        """True if the episode was played; set when the socket has closed."""
        self._request = _handshake(url, token)
        self._episode = episode
        self._statistics = statistics
        self._received = bytearray()
        self._open = False
        self._position = 0
        self._sent_at = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._received += data
        if not self._open:
            head, mark, rest = self._received.partition(b"\r\n\r\n")
            if not mark:
                return
            if not head.startswith(b"HTTP/1.1 101"):
                self._fail(head.decode(errors="replace"))
                return
            self._open, self._received = True, rest
            self._send(self._episode.frames[0])
        while frame := _take_frame(self._received):
            self._handle(*frame)

    def connection_lost(self, error: Exception | None) -> None:
        self.over.set_result(self._position == len(self._episode.frames))

    def _send(self, frame: bytes) -> None:
        self._sent_at = time.perf_counter()
        self._transport.write(frame)

    def _handle(self, kind: int, content: bytes) -> None:
        if kind == _PING:
            self._transport.write(frame_of(_PONG, content))
        elif kind == _CLOSE:
            self._transport.close()
        elif kind == _TEXT:
            self._observe(content)

    def _observe(self, content: bytes) -> None:
        elapsed_ms = (time.perf_counter() - self._sent_at) * 1e3
        if b"CAPACITY_REACHED" in content[:500]:
            self._statistics.refused += 1
            self._transport.abort()
            return
        (self._statistics.step_ms if self._position else self._statistics.reset_ms).append(elapsed_ms)
        if not content.startswith((b'{"type":"observation"', b'{"type": "observation"')):
            self._fail(content.decode())
            return
        self._position += 1
        if self._position < len(self._episode.frames):
            self._send(self._episode.frames[self._position])
            return
        data = json.loads(content)["data"]
        self._statistics.episodes += 1
        self._statistics.rewards.append(data["reward"] if data["done"] else 0.0)
        self._transport.write(frame_of(_CLOSE, _CLOSING))

    def _fail(self, message: str) -> None:
        self._statistics.failure = self._statistics.failure or message[:500]
        self._transport.abort()


def frame_of(kind: int, content: bytes) -> bytes:
    """Returns a masked frame with a mask of zeros."""
    size = len(content)
    if size < 126:
        head = struct.pack("!BB", 0x80 | kind, 0x80 | size)
    elif size < 65_536:
        head = struct.pack("!BBH", 0x80 | kind, 0x80 | 126, size)
    else:
        head = struct.pack("!BBQ", 0x80 | kind, 0x80 | 127, size)
    return head + b"\0\0\0\0" + content


def text_frame(message: Any) -> bytes:
    return frame_of(_TEXT, json.dumps(message).encode())


def _handshake(url: str, token: str | None) -> bytes:
    address, path = url.removeprefix("ws://").split("/", 1)
    key = base64.b64encode(os.urandom(16)).decode()
    lines = [f"GET /{path} HTTP/1.1", f"Host: {address}", "Upgrade: websocket", "Connection: Upgrade"]
    lines += [f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13"]
    lines += [f"Authorization: Bearer {token}"] if token else []
    return "\r\n".join([*lines, "", ""]).encode()


def _take_frame(received: bytearray) -> tuple[int, bytes] | None:
    """Removes and returns the first complete frame. Both servers send unmasked, unfragmented frames."""
    if len(received) < 2:
        return None
    size, start = received[1] & 0x7F, 2
    if size == 126:
        start = 4
        size = int.from_bytes(received[2:4], "big")
    elif size == 127:
        start = 10
        size = int.from_bytes(received[2:10], "big")
    if len(received) < max(start, start + size):
        return None
    kind, content = received[0] & 0x0F, bytes(received[start : start + size])
    del received[: start + size]
    return kind, content
