"""Fixtures: a real server in a child process, and a real WebSocket client."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
import yaml
from websockets.sync.client import ClientConnection, connect

TESTS = Path(__file__).parent
PROJECT = TESTS.parent
REPOSITORY = PROJECT.parent
TOKEN = "a-token-of-the-tests"


Task = dict[str, Any]


class Client:
    """Client of one server, with its token."""

    def __init__(self, url: str, token: str | None, process: subprocess.Popen[bytes]) -> None:
        self.url = url
        self.process = process
        headers = {"authorization": f"Bearer {token}"} if token else {}
        self.http = httpx.Client(base_url=url, headers=headers, timeout=120)
        self._headers = headers

    def post(self, path: str, **body: Any) -> Any:
        response = self.http.post(path, json=body)
        assert response.status_code == 200, response.text
        return response.json()

    def draw(self, name: str, split: str, count: int, seed: int = 1, /, **options: Any) -> list[Task]:
        body = {"split": split, "count": count, "seed": seed, "options": options}
        while (response := self.http.post(f"/envs/{name}/data/tasks", json=body)).status_code == 202:
            assert response.json()["ready"] < response.json()["count"]
        assert response.status_code == 200, response.text
        return list(response.json()["tasks"])

    def session(self, name: str = "intercode-sql") -> "Session":
        url = self.url.replace("http", "ws") + f"/envs/{name}/ws"
        return Session(connect(url, additional_headers=self._headers, max_size=2**22))


class Session:
    """One open socket; `with` closes it."""

    def __init__(self, opening: AbstractContextManager[ClientConnection]) -> None:
        self._opening = opening
        self.connection: ClientConnection = opening.__enter__()

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        self._opening.__exit__(None, None, None)

    def receive(self) -> dict[str, Any]:
        return dict(json.loads(self.connection.recv(timeout=120)))

    def send(self, message: object) -> dict[str, Any]:
        self.connection.send(message if isinstance(message, str) else json.dumps(message))
        return self.receive()

    def reset(self, **data: Any) -> dict[str, Any]:
        return self.send({"type": "reset", "data": data})

    def reset_in_time(self, **data: Any) -> None:
        """Resets until an episode is open. On a busy machine the short timeout of a test can end a reset."""
        wait_until(lambda: self.reset(**data)["type"] == "observation", "no reset was in time")

    def step(self, content: str) -> dict[str, Any]:
        return self.send({"type": "step", "data": {"content": content}})

    def play(self, definition: dict[str, Any], actions: list[str]) -> dict[str, Any]:
        """Resets to a task, plays the actions, and returns the data of the last observation."""
        reply = self.reset(task=definition, seed=0)
        for action in actions:
            assert reply["type"] == "observation", reply
            reply = self.step(action)
        assert reply["type"] == "observation", reply
        return dict(reply["data"])


def error_code(reply: dict[str, Any]) -> str:
    assert reply["type"] == "error", reply
    return str(reply["data"]["code"])


def text_of(reply: dict[str, Any]) -> str:
    """Returns the last message of an observation."""
    assert reply["type"] == "observation", reply
    return str(reply["data"]["observation"]["messages"][-1]["content"])


def wait_until(condition: Callable[[], bool], failure: str, seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, failure
        time.sleep(0.02)


def is_gone(pid: int) -> bool:
    """True also for a killed process whose parent has not waited for it yet."""
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


Serve = Callable[..., Client]


def start_server(
    folder: Path, *arguments: str, token: str | None = TOKEN, env: dict[str, str] | None = None
) -> Client:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "coevolve_environments", "--port", str(port), *arguments]
    if token:
        file = folder / "token"
        file.write_text(token + "\n")
        command += ["--token-file", str(file)]
    environment = {**os.environ, "PYTHONPATH": "src", **(env or {})}
    process = subprocess.Popen(command, cwd=PROJECT, env=environment, stderr=subprocess.DEVNULL)
    client = Client(f"http://127.0.0.1:{port}", token, process)
    while process.poll() is None:
        try:
            client.http.get("/health").raise_for_status()
            return client
        except httpx.TransportError:
            time.sleep(0.05)
    raise AssertionError(f"the server exited with {process.returncode}")


def hosted_arguments(folder: Path, name: str, **section: Any) -> list[str]:
    """Writes a settings file and returns the arguments of a server with only this environment."""
    file = folder / "environments.yaml"
    file.write_text(yaml.safe_dump({"hosted": {name: section}}))
    return ["--environments", name, "--settings", str(file), "--state", str(folder / "state")]


def run_server(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the command line until it exits."""
    command = [sys.executable, "-m", "coevolve_environments", *arguments]
    return subprocess.run(
        command,
        cwd=PROJECT,
        env={"PYTHONPATH": "src"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def stop_server(client: Client) -> int:
    client.http.close()
    client.process.terminate()
    return client.process.wait(timeout=10)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    client = start_server(tmp_path_factory.mktemp("server"))
    yield client
    stop_server(client)


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    started: list[Client] = []

    def start(*arguments: str, **options: Any) -> Client:
        started.append(start_server(tmp_path, *arguments, **options))
        return started[-1]

    yield start
    for client in started:
        stop_server(client)
