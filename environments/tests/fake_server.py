"""Starts the fake remote servers of these tests: real HTTP processes that say in answers what they are."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx


@dataclass(frozen=True)
class FakeServer:
    url: str
    process: subprocess.Popen[bytes]


@contextmanager
def fake_server(script: str, *arguments: str) -> Iterator[FakeServer]:
    """The server of `tests/<script>` on a port that was free, until the block ends."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, str(Path(__file__).parent / script), str(port), *arguments]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        while process.poll() is None:
            try:
                httpx.get(f"http://127.0.0.1:{port}/", trust_env=False)
                break
            except httpx.TransportError:
                time.sleep(0.05)
        yield FakeServer(f"http://127.0.0.1:{port}", process)
    finally:
        process.kill()
        process.wait(timeout=10)


def eventually(holds: object, what: str) -> None:
    """Waits until the callable answers true: what is let go of in the background takes a moment."""
    assert callable(holds)
    deadline = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)
