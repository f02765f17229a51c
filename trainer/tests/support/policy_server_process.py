"""A policy server as a real process."""

import os
import socket
import subprocess
import sys
import time
from typing import Any

import httpx

from job_folder import SOURCES, expert_rows

QUESTIONS = [row["messages"][:2] for row in expert_rows(40)]


def start(*options: str) -> tuple[subprocess.Popen[bytes], str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "coevolve_policy_server", "--port", str(port), *options]
    child = subprocess.Popen(command, env=os.environ | {"PYTHONPATH": str(SOURCES)})
    for _ in range(600):
        try:
            if httpx.get(f"http://127.0.0.1:{port}/health").status_code == 200:
                return child, f"http://127.0.0.1:{port}"
        except httpx.TransportError:
            time.sleep(0.05)
    raise AssertionError("the server did not start")


def ask(server: str, model: str, **fields: Any) -> httpx.Response:
    body = {"model": model, "messages": QUESTIONS[0], "temperature": 0, "max_tokens": 24, **fields}
    return httpx.post(f"{server}/v1/chat/completions", json=body, timeout=60)
