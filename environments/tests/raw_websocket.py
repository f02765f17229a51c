"""A bare WebSocket client, for handshakes and frames that no library sends."""

import base64
import json
import os
import socket
import struct
from typing import Any

import pytest

from conftest import TOKEN, Client

CONTINUATION, TEXT, CLOSE, PING = 0x0, 0x1, 0x8, 0x9
STATE = b'{"type": "state"}'


def connect_raw(server: Client, path: str = "/envs/intercode-sql/ws", **changed: str) -> socket.socket:
    """Returns a socket after the request of a handshake, with some headers changed."""
    host, port = server.url.removeprefix("http://").split(":")
    connection = socket.create_connection((host, int(port)), timeout=20)
    headers = {
        "Host": host,
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode(),
        "Sec-WebSocket-Version": "13",
        "Authorization": f"Bearer {TOKEN}",
        **changed,
    }
    lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    connection.sendall("\r\n".join(lines).encode())
    return connection


def open_raw(server: Client) -> socket.socket:
    """Returns a socket after the handshake."""
    connection = connect_raw(server)
    assert read_head(connection).startswith(b"HTTP/1.1 101")
    return connection


def read_head(connection: socket.socket) -> bytes:
    """Returns status line and headers of the response."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += read_exactly(connection, 1)
    return head


def make_frame(kind: int, final: bool, payload: bytes) -> bytes:
    """Returns a masked frame."""
    mask = os.urandom(4)
    size = len(payload)
    head = bytes([0x80 * final | kind])
    if size < 126:
        head += bytes([0x80 | size])
    elif size < 65_536:
        head += bytes([0x80 | 126]) + struct.pack("!H", size)
    else:
        head += bytes([0x80 | 127]) + struct.pack("!Q", size)
    pattern = (mask * (size // 4 + 1))[:size]
    masked = int.from_bytes(payload, "big") ^ int.from_bytes(pattern, "big")
    return head + mask + masked.to_bytes(size, "big")


def read_text(connection: socket.socket) -> dict[str, Any]:
    """Returns the next message, without replies to pings."""
    kind, payload = read_frame(connection)
    return dict(json.loads(payload)) if kind == TEXT else read_text(connection)


def read_frame(connection: socket.socket) -> tuple[int, bytes]:
    head = read_exactly(connection, 2)
    size = head[1]
    if size == 126:
        size = int.from_bytes(read_exactly(connection, 2), "big")
    return head[0] & 0x0F, read_exactly(connection, size)


def read_exactly(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        data += connection.recv(count - len(data)) or pytest.fail("the connection has closed")
    return data
