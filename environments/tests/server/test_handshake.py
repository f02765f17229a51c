"""Opening and closing of a WebSocket on a real server, byte by byte."""

import struct

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from conftest import TOKEN, Client
from raw_websocket import (
    CLOSE,
    STATE,
    TEXT,
    connect_raw,
    make_frame,
    open_raw,
    read_exactly,
    read_frame,
    read_head,
    read_text,
)


def test_the_accept_key_equals_the_standards_example(server: Client) -> None:
    # RFC 6455, section 1.3
    with connect_raw(server, **{"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}) as connection:
        head = read_head(connection)

    assert head.startswith(b"HTTP/1.1 101")
    assert b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in head


@pytest.mark.parametrize(
    ("header", "value", "status"),
    [
        ("Sec-WebSocket-Key", "short", b"400"),
        ("Sec-WebSocket-Key", "not base64 at all, but long", b"400"),
        ("Sec-WebSocket-Version", "8", b"426"),
        ("Authorization", "Bearer another-token", b"403"),
    ],
)
def test_an_invalid_handshake_is_refused_and_the_socket_closed(
    server: Client, header: str, value: str, status: bytes
) -> None:
    with connect_raw(server, **{header: value}) as connection:
        response = b""
        while part := connection.recv(4096):
            response += part

    assert response.split()[1] == status


def test_a_path_without_an_environment_is_refused(server: Client) -> None:
    with connect_raw(server, path="/envs/nothing/ws") as connection:
        assert read_exactly(connection, 12) == b"HTTP/1.1 404"


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (b"", 1000),
        (struct.pack("!H", 1000), 1000),
        (struct.pack("!H", 1001) + b"going", 1001),
        (struct.pack("!H", 3000), 3000),
    ],
)
def test_a_close_frame_is_answered_with_its_code_and_ends_the_socket(
    server: Client, sent: bytes, code: int
) -> None:
    with open_raw(server) as connection:
        connection.sendall(make_frame(CLOSE, True, sent))

        kind, payload = read_frame(connection)

        assert (kind, payload[:2]) == (CLOSE, struct.pack("!H", code))
        assert connection.recv(1) == b""


def test_messages_after_the_servers_close_frame_get_no_reply(server: Client) -> None:
    with open_raw(server) as connection:
        connection.sendall(make_frame(TEXT, True, b'{"type": "close"}'))
        assert read_frame(connection) == (CLOSE, struct.pack("!H", 1000))

        connection.sendall(make_frame(TEXT, True, STATE))
        connection.sendall(make_frame(CLOSE, True, struct.pack("!H", 1000)))

        assert connection.recv(1) == b""


def test_a_message_above_the_maximum_size_ends_the_socket(server: Client) -> None:
    url = server.url.replace("http", "ws") + "/envs/intercode-sql/ws"
    with connect(url, additional_headers={"authorization": f"Bearer {TOKEN}"}) as connection:
        connection.send("x" * (2**20 + 1))

        with pytest.raises(ConnectionClosed) as closed:
            connection.recv(timeout=20)

    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1009


def test_pipelined_messages_are_all_answered(server: Client) -> None:
    with open_raw(server) as connection:
        for _ in range(200):
            connection.sendall(make_frame(TEXT, True, STATE))

        replies = [read_text(connection) for _ in range(200)]

    assert {reply["type"] for reply in replies} == {"state"}
