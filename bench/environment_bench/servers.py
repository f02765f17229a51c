"""The measured servers, each in a separate process."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).parents[2]
OPENENV = ROOT / ".venv-openenv/bin/python"
_TOKEN = "bench-token"
_START_SECONDS = 60
_DATA_SECONDS = 120

Json = dict[str, Any]


@dataclass(frozen=True)
class Server:
    url: str
    token: str | None
    process: psutil.Process

    def socket_url(self, mount: str = "") -> str:
        return f"{self.url.replace('http', 'ws', 1)}{mount}/ws"

    def get(self, path: str) -> Json:
        return self._send(urllib.request.Request(self.url + path))

    def post(self, path: str, **body: Any) -> Json:
        return self._send(urllib.request.Request(self.url + path, data=json.dumps(body).encode()))

    def cpu_seconds(self) -> float:
        times = self.process.cpu_times()
        return float(times.user + times.system)

    def resident_mb(self, *, children: bool) -> float:
        """Returns resident memory in 10^6 bytes, of the server alone or with its descendants."""
        processes = [self.process, *(self.process.children(recursive=True) if children else [])]
        return sum(_resident(process) for process in processes) / 1e6

    def _send(self, request: urllib.request.Request) -> Json:
        if self.token:
            request.add_header("authorization", f"Bearer {self.token}")
        request.add_header("content-type", "application/json")
        with urllib.request.urlopen(request, timeout=_DATA_SECONDS) as response:
            return dict(json.load(response))


@contextmanager
def our_server(names: Sequence[str] | None, options: Sequence[str], capacity: int) -> Iterator[Server]:
    """
    Args:
        names: environments; None means all available ones.
        options: other arguments of the server.
    """
    with tempfile.TemporaryDirectory(prefix="bench-environments-") as folder:
        token = Path(folder) / "token"
        token.write_text(_TOKEN)
        arguments = ["-m", "coevolve_environments", "--token-file", str(token), "--capacity", str(capacity)]
        arguments += ["--environments", ",".join(names)] if names else []
        arguments += [] if "--state" in options else ["--state", folder]
        with _running([sys.executable, *arguments, *options], _TOKEN) as server:
            yield server


@contextmanager
def official_server(mode: str) -> Iterator[Server]:
    arguments = ["-m", "environment_bench.official_server", "--mode", mode]
    with _running([str(OPENENV), *arguments], None) as server:
        yield server


@contextmanager
def _running(command: list[str], token: str | None) -> Iterator[Server]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    path = os.pathsep.join(str(ROOT / folder) for folder in ("environments/src", "bench"))
    environ = {**os.environ, "PYTHONPATH": path}
    started = subprocess.Popen(
        [*command, "--port", str(port)], env=environ, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    server = Server(f"http://127.0.0.1:{port}", token, psutil.Process(started.pid))
    try:
        _wait_for_health(server, started)
        yield server
    finally:
        started.terminate()
        started.communicate()


def _wait_for_health(server: Server, started: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while started.poll() is None and time.monotonic() < deadline:
        try:
            server.get("/health")
            return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.05)
    started.kill()
    raise RuntimeError(f"the server did not start: {started.communicate()[1].decode()[-2000:]}")


def _resident(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.NoSuchProcess:
        return 0
