"""Frames in every legal form and cut, and broken frames, on a real server."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import Client
from raw_websocket import CLOSE, CONTINUATION, PING, STATE, TEXT, make_frame, open_raw, read_frame, read_text

Frame = tuple[int, bool, bytes]

# Legal forms of one message, with pings wherever they are allowed.
whole: list[Frame] = [(TEXT, True, STATE)]
halves: list[Frame] = [(TEXT, False, STATE[:7]), (CONTINUATION, True, STATE[7:])]
halves_around_a_ping: list[Frame] = [halves[0], (PING, True, b"x"), halves[1]]
after_a_ping: list[Frame] = [(PING, True, b"y"), *whole]
long: list[Frame] = [(TEXT, True, STATE + b" " * 70_000)]
forms = st.sampled_from([whole, halves, halves_around_a_ping, after_a_ping, long])


@settings(max_examples=25, derandomize=True, deadline=None)
@given(messages=st.lists(forms, min_size=1, max_size=6), cuts=st.lists(st.integers(1, 40), max_size=12))
def test_every_message_gets_one_reply_in_every_form_and_cut(
    server: Client, messages: list[list[Frame]], cuts: list[int]
) -> None:
    sent = b"".join(make_frame(*part) for message in messages for part in message)
    with open_raw(server) as connection:
        for cut in cuts:
            connection.sendall(sent[:cut])
            sent = sent[cut:]
        connection.sendall(sent)

        replies = [read_text(connection) for _ in messages]

    assert [reply["type"] for reply in replies] == ["state"] * len(messages)


@pytest.mark.parametrize(
    "broken",
    [
        b"\x81\x82\0\0\0\0\xff\xfe",
        b"\xc1\x82\0\0\0\0{}",
        b"\x83\x82\0\0\0\0{}",
        b"\x09\x80\0\0\0\0",
        b"\x80\x82\0\0\0\0{}",
    ],
    ids=["not UTF-8", "a reserved bit", "an unknown opcode", "a fragmented ping", "a first continuation"],
)
def test_a_broken_frame_ends_the_session(server: Client, broken: bytes) -> None:
    with open_raw(server) as connection:
        connection.sendall(broken)

        kind, _ = read_frame(connection)

    assert kind == CLOSE
