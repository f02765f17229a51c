"""Sessions end with their socket, at a timeout, or with their holder, and free their resources."""

import socket
import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from aiohttp import web
from websockets.exceptions import ConnectionClosed

from coevolve_environments.registry import BuiltEnvironments
from coevolve_environments.server import session_socket
from coevolve_environments.server.app import LEASES, create_app
from conftest import Client, Serve, error_code, run_server, stop_server, wait_until
from counting_environment import Counting
from counting_server import TASK, children_of, metric, serve_counting, sessions_of, start_counting
from server_thread import server_thread


@pytest.fixture(scope="module")
def counting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A server with the default timeouts."""
    client = start_counting(tmp_path_factory.mktemp("counting"))
    yield client
    stop_server(client)


def wait_until_free(client: Client) -> None:
    wait_until(lambda: sessions_of(client) == 0, "the session outlived its end")


def test_a_holder_is_listed_and_closes_only_its_own_sessions(counting: Client) -> None:
    client = counting
    with client.session("counting") as first, client.session("counting") as second:
        first.reset(**TASK, lease={"holder": "campaign/1"})
        second.reset(**TASK, lease={"holder": "campaign/2"})
        leases = client.http.get("/leases").json()["leases"]
        assert {lease["holder"] for lease in leases} == {"campaign/1", "campaign/2"}
        assert {lease["environment"] for lease in leases} == {"counting"}
        assert all(lease["opened_at"] < lease["expires_at"] for lease in leases)
        assert client.post("/leases/close", holder="campaign/1") == {"closed": 1}
        ended = first.receive()
        assert error_code(ended) == "SESSION_ERROR"
        assert ended["data"]["reason"] == "closed-by-holder"
        with pytest.raises(ConnectionClosed):
            first.receive()
        assert second.step("add 1")["type"] == "observation"
    assert client.post("/leases/close", holder="campaign/1") == {"closed": 0}
    wait_until_free(client)
    assert metric(client, "leases_ended_total", environment="counting", reason="closed-by-holder") == 1


def test_an_invalid_lease_is_refused(server: Client) -> None:
    for lease in ({"holder": 5}, {"holder": ""}, "campaign/1", {"holder": "x" * 201}):
        with server.session() as session:
            assert error_code(session.reset(task={}, lease=lease)) == "VALIDATION_ERROR"


def test_an_episode_past_its_timeout_is_ended_during_an_action(serve: Serve, tmp_path: Path) -> None:
    client = serve_counting(serve, tmp_path, episode_seconds=1.5)
    with client.session("counting") as session:
        session.reset(**TASK)
        ended = session.step("sleep 60")
        assert error_code(ended) == "SESSION_ERROR"
        assert ended["data"]["reason"] == "episode-timeout"
    wait_until_free(client)
    wait_until(lambda: not children_of(client), "the child is still running")
    assert metric(client, "stuck_calls", environment="counting") == 0


def test_an_idle_session_is_ended_after_the_timeout_of_its_settings(serve: Serve, tmp_path: Path) -> None:
    client = serve_counting(serve, tmp_path, idle_seconds=0.5)
    with client.session("counting") as session:
        session.reset(**TASK)
        session.step("sleep 1")  # the time of a running call does not count
        assert session.receive()["data"]["reason"] == "idle"
    wait_until_free(client)


def test_an_action_past_its_timeout_ends_its_world_and_the_session_continues(
    serve: Serve, tmp_path: Path
) -> None:
    client = serve_counting(serve, tmp_path, turn_seconds=2)
    with client.session("counting") as session:
        session.reset_in_time(**TASK)
        late = session.step("sleep 60")["data"]
        assert (late["done"], late["reward"], late["metadata"]["error_type"]) == (True, 0.0, "timeout")
        wait_until(
            lambda: metric(client, "stuck_calls", environment="counting") == 0, "the thread is still busy"
        )
        session.reset_in_time(**TASK)
        assert [session.step("add 1") for _ in range(5)][-1]["data"]["reward"] == 1.0
    assert metric(client, "worlds_ended_total", environment="counting", kind="timeout") == 1


def test_a_call_that_cannot_be_stopped_uses_capacity_until_it_returns(serve: Serve, tmp_path: Path) -> None:
    client = serve_counting(serve, tmp_path, "--capacity", "1", where="thread", turn_seconds=0.2)
    with client.session("counting") as session:
        session.reset_in_time(**TASK)
        assert error_code(session.step("sleep 2")) == "EXECUTION_ERROR"
    wait_until_free(client)
    with client.session("counting") as session:
        refused = session.receive()
        assert error_code(refused) == "CAPACITY_REACHED"
        assert "past their timeout" in refused["data"]["message"]
    wait_until(lambda: metric(client, "stuck_calls", environment="counting") == 0, "the capacity is not free")
    with client.session("counting") as session:
        assert session.reset(**TASK)["type"] == "observation"


def test_a_child_ends_with_the_socket_during_an_action(counting: Client) -> None:
    client = counting
    wait_until(lambda: not children_of(client), "a child of another test is still running")
    session = client.session("counting")
    session.reset(**TASK)
    session.connection.send('{"type": "step", "data": {"content": "sleep 60"}}')
    wait_until(lambda: len(children_of(client)) == 1, "no child is running")
    session.connection.socket.close()
    wait_until_free(client)
    wait_until(lambda: not children_of(client), "the child is still running")


def test_a_child_is_reused_after_a_complete_episode(serve: Serve, tmp_path: Path) -> None:
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
    """A server that pings its clients after 0.2 s instead of 25 s, and aborts their sockets as fast."""

    port: int
    app: web.Application

    def has_no_session(self) -> bool:
        return not self.app[LEASES].describe()

    def has_no_socket(self) -> bool:
        """The test process has both ends of a connection; only the server's has this local port."""
        connections = psutil.Process().net_connections("tcp")
        return not any(c.laddr[1] == self.port and c.status == psutil.CONN_ESTABLISHED for c in connections)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[ImpatientServer]:
    monkeypatch.setattr(session_socket, "_PING_SECONDS", 0.2)
    monkeypatch.setattr(session_socket, "_SWEEP_SECONDS", 0.2)
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


@pytest.mark.parametrize("key", ["idle_seconds", "episode_seconds", "turn_seconds"])
def test_an_invalid_timeout_is_refused_with_its_setting(tmp_path: Path, key: str) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text(f"hosted: {{bfcl: {{{key}: 0}}}}")
    completed = run_server("--port", "1", "--settings", str(file))
    assert f"hosted.bfcl.{key}: expected seconds above 0" in completed.stderr
