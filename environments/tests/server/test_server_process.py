"""The command line: what it refuses, and how it stops."""

import subprocess
import sys
from pathlib import Path

import pytest

from conftest import Serve, stop_server

ROOT = Path(__file__).parents[2]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "coevolve_environments", *arguments]
    return subprocess.run(
        command, cwd=ROOT, env={"PYTHONPATH": "src"}, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--port", "1", "--host", "0.0.0.0"], "only loopback"),
        (["--port", "1", "--environments", "chess"], "unknown environment 'chess'"),
        (["--port", "1", "--capacity", "0"], "at least 1"),
        (["--port", "1", "--token-file", "no-such-file"], "no-such-file"),
        (["--port", "1", "--settings", "no-such-file.yaml"], "no-such-file.yaml"),
    ],
)
def test_a_bad_start_is_refused_with_its_reason(arguments: list[str], complaint: str) -> None:
    ended = run(*arguments)
    assert ended.returncode != 0
    assert complaint in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_terminated_server_stops_although_a_session_is_open(serve: Serve) -> None:
    client = serve()
    with client.session() as session:
        session.send({"type": "state"})
        assert stop_server(client) in (0, -15)
