"""Starts the fake remote servers of the tests: real HTTP processes whose responses contain the word FAKE."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import httpx

from conftest import TESTS


@dataclass(frozen=True)
class FakeServer:
    url: str
    process: subprocess.Popen[bytes]


@contextmanager
def fake_server(script: str, *arguments: str) -> Iterator[FakeServer]:
    """Runs the server of `tests/<script>` on a free port until the block ends."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, str(TESTS / script), str(port), *arguments]
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
