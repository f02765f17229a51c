"""The policy server as a real process."""

import contextlib
import os
import socket
import subprocess
import sys
from typing import Any

import httpx

from job_folder import SOURCES, expert_rows, wait_until

QUESTIONS = [row["messages"][:2] for row in expert_rows(40)]
_CLIENT = httpx.Client(timeout=60)  # one for all requests, because a new client takes 30 ms


def start(*options: str) -> tuple[subprocess.Popen[bytes], str]:
    """Starts a server and waits until it is healthy; returns the process and its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "coevolve_policy_server", "--port", str(port), *options]
    child = subprocess.Popen(command, env=os.environ | {"PYTHONPATH": str(SOURCES)})
    address = f"http://127.0.0.1:{port}"

    def is_healthy() -> bool:
        assert child.poll() is None, "the server exited"
        with contextlib.suppress(httpx.TransportError):
            return httpx.get(f"{address}/health").status_code == 200
        return False

    wait_until(is_healthy)
    return child, address


def complete(server: str, model: str, **fields: Any) -> httpx.Response:
    body = {"model": model, "messages": QUESTIONS[0], "temperature": 0, "max_tokens": 24, **fields}
    return _CLIENT.post(f"{server}/v1/chat/completions", json=body)
