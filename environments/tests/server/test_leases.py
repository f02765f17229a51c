"""Sessions end with their socket, their time and their holder, and what they held is free again."""

import socket
import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
from aiohttp import web
from test_server_process import run
from test_wire import code
from websockets.exceptions import ConnectionClosed

from coevolve_environments.registry import BuiltEnvironments
from coevolve_environments.server import open_sockets, session_socket
from coevolve_environments.server.app import LEASES, create_app
from conftest import Client, Serve
from counting_environment import Counting
from counting_server import metric, serve_counting, sessions_of, wait_until
from server_thread import server_thread

TASK: dict[str, Any] = {"task": {}}


def children_of(client: Client) -> list[psutil.Process]:
    """Those that play; the guardian of the groups stays as long as the server."""
    found = psutil.Process(client.process.pid).children(recursive=True)
    return [child for child in found if not any("reaper" in word for word in child.cmdline())]


def wait_until_free(client: Client) -> None:
    wait_until(lambda: sessions_of(client) == 0, "the session outlived its end")


def test_a_holder_is_listed_and_closes_its_sessions_alone(serve: Serve, tmp_path: Path) -> None:
    client = serve_counting(serve, tmp_path)
    with client.session("counting") as first, client.session("counting") as second:
        first.reset(**TASK, lease={"holder": "campaign/1"})
        second.reset(**TASK, lease={"holder": "campaign/2"})
        leases = client.http.get("/leases").json()["leases"]
        assert {lease["holder"] for lease in leases} == {"campaign/1", "campaign/2"}
        assert {lease["environment"] for lease in leases} == {"counting"}
        assert all(lease["opened_at"] < lease["expires_at"] for lease in leases)
        assert client.post("/leases/close", holder="campaign/1") == {"closed": 1}
        told = first.receive()
        assert code(told) == "SESSION_ERROR"
        assert told["data"]["reason"] == "holder"
        with pytest.raises(ConnectionClosed):
            first.receive()
        assert second.step("add 1")["type"] == "observation"
    assert client.post("/leases/close", holder="campaign/1") == {"closed": 0}
    wait_until_free(client)
    assert metric(client, "leases_ended_total", environment="counting", reason="holder") == 1


def test_a_lease_that_is_none_is_refused(server: Client) -> None:
    for lease in ({"holder": 5}, {"holder": ""}, "campaign/1", {"holder": "x" * 201}):
        with server.session() as session:
            assert code(session.reset(task={}, lease=lease)) == "VALIDATION_ERROR"


def test_an_episode_past_its_deadline_is_ended_in_the_middle_of_a_step(serve: Serve, tmp_path: Path) -> None:
    client = serve_counting(serve, tmp_path, episode_seconds=1.5)
    with client.session("counting") as session:
        session.reset(**TASK)
        ended = session.step("sleep 60")
        assert code(ended) == "SESSION_ERROR"
        assert ended["data"]["reason"] == "episode"
    wait_until_free(client)
    wait_until(lambda: not children_of(client), "the child went on")
    assert metric(client, "stuck_calls", environment="counting") == 0


def test_a_silent_session_is_ended_after_the_time_of_its_settings(serve: Serve, tmp_path: Path) -> None:
    client = serve_counting(serve, tmp_path, idle_seconds=0.5)
    with client.session("counting") as session:
        session.reset(**TASK)
        session.step("sleep 1")  # a call that runs is no silence
        assert session.receive()["data"]["reason"] == "idle"
    wait_until_free(client)


def test_a_step_past_its_deadline_is_a_fault_and_the_session_goes_on(serve: Serve, tmp_path: Path) -> None:
    client = serve_counting(serve, tmp_path, step_seconds=2)
    with client.session("counting") as session:
        session.reset(**TASK)
        late = session.step("sleep 60")
        assert code(late) == "EXECUTION_ERROR"
        assert "no result within 2 s" in late["data"]["message"]
        wait_until(lambda: metric(client, "stuck_calls", environment="counting") == 0, "the thread is held")
        assert session.play({}, ["add 1"] * 5)["reward"] == 1.0
    assert metric(client, "faults_total", environment="counting", kind="slow") == 1


def test_a_call_that_nothing_can_stop_keeps_its_place_until_it_returns(serve: Serve, tmp_path: Path) -> None:
    client = serve_counting(serve, tmp_path, "--capacity", "1", where="thread", step_seconds=0.2)
    with client.session("counting") as session:
        session.reset(**TASK)
        assert code(session.step("sleep 3")) == "EXECUTION_ERROR"
    wait_until_free(client)
    with client.session("counting") as session:
        refused = session.receive()
        assert code(refused) == "CAPACITY_REACHED"
        assert "past their timeout" in refused["data"]["message"]
    wait_until(lambda: metric(client, "stuck_calls", environment="counting") == 0, "the place is lost")
    with client.session("counting") as session:
        assert session.reset(**TASK)["type"] == "observation"


def test_a_child_ends_with_the_socket_although_a_step_runs(serve: Serve, tmp_path: Path) -> None:
    client = serve_counting(serve, tmp_path)
    session = client.session("counting")
    session.reset(**TASK)
    session.connection.send('{"type": "step", "data": {"content": "sleep 60"}}')
    wait_until(lambda: len(children_of(client)) == 1, "no child plays")
    session.connection.socket.close()
    wait_until_free(client)
    wait_until(lambda: not children_of(client), "the child went on")


def test_a_child_that_played_to_the_end_plays_again(serve: Serve, tmp_path: Path) -> None:
    client = serve_counting(serve, tmp_path)
    with client.session("counting") as session:
        session.play({}, ["add 1"] * 5)
        (child,) = children_of(client)
        session.play({}, ["add 1"] * 5)
        assert children_of(client) == [child]


def test_a_killed_server_leaves_no_child(serve: Serve, tmp_path: Path) -> None:
    client = serve_counting(serve, tmp_path)
    session = client.session("counting")
    session.reset(**TASK)
    grandchild = session.step("spawn 0")["data"]["observation"]["messages"][0]["content"]
    started = psutil.Process(client.process.pid).children(recursive=True)
    assert int(grandchild) in [process.pid for process in started]
    client.process.kill()
    client.process.wait()
    wait_until(
        lambda: not any(p.is_running() and p.status() != psutil.STATUS_ZOMBIE for p in started),
        "a child outlived its server",
    )


@dataclass(frozen=True)
class ImpatientServer:
    """A server that pings its clients every 0.2 s instead of every 25 s, and closes them as fast."""

    port: int
    app: web.Application

    def has_no_session(self) -> bool:
        return not self.app[LEASES].describe()

    def has_no_socket(self) -> bool:
        """Connections of the client process count too, but not while they are closed on this side."""
        connections = psutil.Process().net_connections("tcp")
        return not any(c.laddr[1] == self.port and c.status == psutil.CONN_ESTABLISHED for c in connections)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[ImpatientServer]:
    monkeypatch.setattr(session_socket, "_PING_SECONDS", 0.2)
    monkeypatch.setattr(open_sockets, "_SWEEP_SECONDS", 0.2)
    built = BuiltEnvironments({"counting": Counting("counting", None)}, {})
    app = create_app(built, capacity=4, idle_seconds=60, token=None)
    with server_thread(app) as port:
        yield ImpatientServer(port, app)


def connect_mutely(server: ImpatientServer) -> socket.socket:
    """Opens a session whose client reads nothing and answers no ping."""
    mute = socket.socket()
    mute.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    mute.connect(("127.0.0.1", server.port))
    mute.sendall(
        b"GET /envs/counting/ws HTTP/1.1\r\nHost: localhost\r\n"
        b"Upgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Key: " + b"A" * 22 + b"==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
    wait_until(lambda: not server.has_no_session(), "no session")
    return mute


def test_a_client_that_answers_no_ping_loses_its_session_and_its_socket(impatient: ImpatientServer) -> None:
    with connect_mutely(impatient):
        wait_until(impatient.has_no_session, "the session outlived its client")
        wait_until(impatient.has_no_socket, "the socket is still open")


def test_a_client_that_does_not_read_keeps_neither_session_nor_socket(impatient: ImpatientServer) -> None:
    with connect_mutely(impatient) as mute:
        message = b'{"type": "reset", "data": {"task": {"says": "%s"}}}' % (b"x" * 60_000)
        frame = b"\x81\xfe" + struct.pack(">H", len(message)) + b"\0\0\0\0" + message
        mute.settimeout(5)
        with suppress(OSError):
            for _ in range(200):  # 12 MB of observations, more than any socket buffers
                mute.sendall(frame)
        wait_until(impatient.has_no_session, "the session outlived its client")
        wait_until(impatient.has_no_socket, "the socket is still open")


@pytest.mark.parametrize("key", ["idle_seconds", "episode_seconds", "step_seconds"])
def test_a_time_that_is_none_is_refused_by_name(tmp_path: Path, key: str) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text(f"hosted: {{bfcl: {{{key}: 0}}}}")
    ended = run("--port", "1", "--settings", str(file))
    assert f"hosted.bfcl.{key}: expected seconds above 0" in ended.stderr
