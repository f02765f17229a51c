"""A server that is told to stop lets what is being played end, for a while."""

import signal
import time
from pathlib import Path

import pytest
from test_leases import TASK, children_of
from test_wire import code
from websockets.exceptions import ConnectionClosed

from conftest import Client, Serve
from counting_server import serve_counting, wait_until


def drain(client: Client) -> None:
    client.process.send_signal(signal.SIGTERM)
    wait_until(lambda: client.http.get("/health").status_code == 503, "the server does not drain")


def test_while_it_drains_an_open_episode_ends_and_no_session_begins(serve: Serve, tmp_path: Path) -> None:
    client = serve_counting(serve, tmp_path, "--drain-s", "30")
    with client.session("counting") as session:
        session.reset(**TASK)
        started = children_of(client)
        drain(client)
        assert client.http.get("/health").json()["status"] == "draining"
        with client.session("counting") as late:
            refused = late.receive()
            assert code(refused) == "CAPACITY_REACHED"
            assert "draining" in refused["data"]["message"]
        for _ in range(4):
            session.step("add 1")
        assert session.step("add 1")["data"]["reward"] == 1.0
        with pytest.raises(ConnectionClosed) as closed:
            session.receive()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1012
    client.process.wait(timeout=10)
    assert started
    assert not any(child.is_running() for child in started)


def test_an_episode_that_does_not_end_in_time_is_closed(serve: Serve, tmp_path: Path) -> None:
    client = serve_counting(serve, tmp_path, "--drain-s", "0.5")
    with client.session("counting") as session:
        session.reset(**TASK)
        session.connection.send('{"type": "step", "data": {"content": "sleep 60"}}')
        client.process.send_signal(signal.SIGTERM)
        with pytest.raises(ConnectionClosed) as closed:
            session.receive()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1012
    client.process.wait(timeout=10)


def test_a_second_signal_cuts_the_drain_short(serve: Serve, tmp_path: Path) -> None:
    client = serve_counting(serve, tmp_path, "--drain-s", "600")
    with client.session("counting") as session:
        session.reset(**TASK)
        drain(client)
        time.sleep(0.2)
        client.process.send_signal(signal.SIGTERM)
        client.process.wait(timeout=10)
