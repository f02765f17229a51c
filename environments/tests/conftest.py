"""A real server in a child process, and a real WebSocket client."""

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
import pytest
from websockets.sync.client import ClientConnection, connect

TOKEN = "a-token-of-the-tests"


class Client:
    """Talks to one server, with its token."""

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

    def session(self, name: str = "intercode-sql") -> "Session":
        url = self.url.replace("http", "ws") + f"/envs/{name}/ws"
        return Session(connect(url, additional_headers=self._headers, max_size=2**22))


class Session:
    """One socket, open from the start; `with` closes it."""

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

    def step(self, content: str) -> dict[str, Any]:
        return self.send({"type": "step", "data": {"content": content}})

    def play(self, definition: dict[str, Any], actions: list[str]) -> dict[str, Any]:
        """Resets to a task and plays the actions; the data of the last observation."""
        answer = self.reset(task=definition, seed=0)
        for action in actions:
            assert answer["type"] == "observation", answer
            answer = self.step(action)
        assert answer["type"] == "observation", answer
        return dict(answer["data"])


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
    process = subprocess.Popen(
        command, cwd=Path(__file__).parent.parent, env=environment, stderr=subprocess.DEVNULL
    )
    client = Client(f"http://127.0.0.1:{port}", token, process)
    while process.poll() is None:
        try:
            client.http.get("/health").raise_for_status()
            return client
        except httpx.TransportError:
            time.sleep(0.05)
    raise AssertionError(f"the server ended with {process.returncode}")


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
