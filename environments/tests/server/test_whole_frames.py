"""Frames that the short way must leave to the long one, in any cut of the bytes, on a real server."""

import base64
import json
import os
import socket
import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import TOKEN, Client

TEXT, CONTINUATION, PING = 0x1, 0x0, 0x9
STATE = b'{"type": "state"}'
Frame = tuple[int, bool, bytes]

# How a client may send one message, with pings wherever they are allowed.
whole: list[Frame] = [(TEXT, True, STATE)]
halves: list[Frame] = [(TEXT, False, STATE[:7]), (CONTINUATION, True, STATE[7:])]
halves_around_a_ping: list[Frame] = [halves[0], (PING, True, b"x"), halves[1]]
after_a_ping: list[Frame] = [(PING, True, b"y"), *whole]
long: list[Frame] = [(TEXT, True, STATE + b" " * 70_000)]
ways = st.sampled_from([whole, halves, halves_around_a_ping, after_a_ping, long])


@settings(max_examples=25, derandomize=True, deadline=None)
@given(messages=st.lists(ways, min_size=1, max_size=6), cuts=st.lists(st.integers(1, 40), max_size=12))
def test_every_message_is_answered_once_however_it_is_framed_and_cut(
    server: Client, messages: list[list[Frame]], cuts: list[int]
) -> None:
    sent = b"".join(frame(*part) for message in messages for part in message)
    with opened(server) as connection:
        for cut in cuts:
            connection.sendall(sent[:cut])
            sent = sent[cut:]
        connection.sendall(sent)

        answers = [text_from(connection) for _ in messages]

    assert [answer["type"] for answer in answers] == ["state"] * len(messages)


@pytest.mark.parametrize(
    "broken",
    [b"\x81\x02{}", b"\x81\x82\0\0\0\0\xff\xfe", b"\xc1\x82\0\0\0\0{}"],
    ids=["not masked", "not UTF-8", "a reserved bit"],
)
def test_a_broken_frame_ends_the_session(server: Client, broken: bytes) -> None:
    with opened(server) as connection:
        connection.sendall(broken)

        kind, _ = frame_from(connection)

    assert kind == 0x8


def opened(server: Client) -> socket.socket:
    """A bare socket after the handshake."""
    connection = raw(server)
    answer = b""
    while not answer.endswith(b"\r\n\r\n"):
        answer += exactly(connection, 1)
    assert answer.startswith(b"HTTP/1.1 101")
    return connection


def raw(server: Client, path: str = "/envs/intercode-sql/ws", **changed: str) -> socket.socket:
    """A bare socket on which a handshake was sent, with other headers where some are given."""
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


def frame(kind: int, final: bool, payload: bytes) -> bytes:
    mask = os.urandom(4)
    size = len(payload)
    head = bytes([0x80 * final | kind])
    if size < 126:
        head += bytes([0x80 | size])
    else:
        head += (
            bytes([0x80 | 126]) + struct.pack("!H", size)
            if size < 65_536
            else b"\xff" + struct.pack("!Q", size)
        )
    pattern = (mask * (size // 4 + 1))[:size]
    masked = int.from_bytes(payload, "big") ^ int.from_bytes(pattern, "big")
    return head + mask + masked.to_bytes(size, "big")


def text_from(connection: socket.socket) -> dict[str, Any]:
    """The next message that is no answer to a ping."""
    kind, payload = frame_from(connection)
    return dict(json.loads(payload)) if kind == TEXT else text_from(connection)


def frame_from(connection: socket.socket) -> tuple[int, bytes]:
    head = exactly(connection, 2)
    size = head[1]
    if size == 126:
        size = int.from_bytes(exactly(connection, 2), "big")
    return head[0] & 0x0F, exactly(connection, size)


def exactly(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        data += connection.recv(count - len(data)) or pytest.fail("the connection ended")
    return data
