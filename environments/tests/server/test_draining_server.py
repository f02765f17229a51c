"""A stopping server lets open episodes continue for some seconds."""

import signal
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed

from conftest import Client, Serve, error_code, wait_until
from counting_server import TASK, children_of, serve_counting


def drain(client: Client) -> None:
    client.process.send_signal(signal.SIGTERM)
    wait_until(lambda: client.http.get("/health").status_code == 503, "the server does not drain")


def test_during_the_drain_an_open_episode_continues_and_new_sessions_are_refused(
    serve: Serve, tmp_path: Path
) -> None:
    client = serve_counting(serve, tmp_path, "--drain-s", "30")
    with client.session("counting") as session:
        session.reset(**TASK)
        started = children_of(client)
        drain(client)
        assert client.http.get("/health").json()["status"] == "draining"
        with client.session("counting") as late:
            refused = late.receive()
            assert error_code(refused) == "CAPACITY_REACHED"
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


def test_an_episode_that_exceeds_the_drain_is_closed(serve: Serve, tmp_path: Path) -> None:
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


def test_a_second_signal_ends_the_drain(serve: Serve, tmp_path: Path) -> None:
    client = serve_counting(serve, tmp_path, "--drain-s", "600")
    with client.session("counting") as session:
        session.reset(**TASK)
        drain(client)
        assert client.process.poll() is None
        client.process.send_signal(signal.SIGTERM)
        client.process.wait(timeout=10)
