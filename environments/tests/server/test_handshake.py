"""How a WebSocket opens and closes on a real server, byte by byte."""

import struct

import pytest
from test_whole_frames import STATE, TEXT, exactly, frame, frame_from, opened, raw, text_from
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from conftest import TOKEN, Client

CLOSE = 0x8


def test_the_accept_key_is_the_one_of_the_standards_example(server: Client) -> None:
    # RFC 6455, section 1.3
    with raw(server, **{"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}) as connection:
        answer = exactly(connection, 12)
        while not answer.endswith(b"\r\n\r\n"):
            answer += exactly(connection, 1)

    assert answer.startswith(b"HTTP/1.1 101")
    assert b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in answer


@pytest.mark.parametrize(
    ("header", "value", "status"),
    [
        ("Sec-WebSocket-Key", "short", b"400"),
        ("Sec-WebSocket-Key", "not base64 at all, but long", b"400"),
        ("Sec-WebSocket-Version", "8", b"426"),
        ("Authorization", "Bearer of somebody else", b"403"),
    ],
)
def test_a_wrong_handshake_is_refused_and_the_socket_closed(
    server: Client, header: str, value: str, status: bytes
) -> None:
    with raw(server, **{header: value}) as connection:
        answer = b""
        while part := connection.recv(4096):
            answer += part

    assert answer.split()[1] == status


def test_a_path_without_a_session_is_refused(server: Client) -> None:
    with raw(server, path="/envs/nothing/ws") as connection:
        assert exactly(connection, 12) == b"HTTP/1.1 403"


@pytest.mark.parametrize(
    "said", [b"", struct.pack("!H", 1000), struct.pack("!H", 1001) + b"going", struct.pack("!H", 3000)]
)
def test_a_goodbye_is_answered_alike_and_ends_the_socket(server: Client, said: bytes) -> None:
    with opened(server) as connection:
        connection.sendall(frame(CLOSE, True, said))

        kind, answer = frame_from(connection)

        assert (kind, answer[:2]) == (CLOSE, said[:2])
        assert connection.recv(1) == b""


def test_what_comes_after_the_servers_goodbye_is_not_answered(server: Client) -> None:
    with opened(server) as connection:
        connection.sendall(frame(TEXT, True, b'{"type": "close"}'))
        assert frame_from(connection) == (CLOSE, struct.pack("!H", 1000))

        connection.sendall(frame(TEXT, True, STATE))
        connection.sendall(frame(CLOSE, True, struct.pack("!H", 1000)))

        assert connection.recv(1) == b""


def test_a_message_past_the_largest_size_ends_the_socket(server: Client) -> None:
    url = server.url.replace("http", "ws") + "/envs/intercode-sql/ws"
    with connect(url, additional_headers={"authorization": f"Bearer {TOKEN}"}) as connection:
        connection.send("x" * (2**20 + 1))

        with pytest.raises(ConnectionClosed) as closed:
            connection.recv(timeout=20)

    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1009


def test_messages_that_do_not_wait_for_answers_are_all_answered(server: Client) -> None:
    with opened(server) as connection:
        for _ in range(200):
            connection.sendall(frame(TEXT, True, STATE))

        answers = [text_from(connection) for _ in range(200)]

    assert {answer["type"] for answer in answers} == {"state"}
