"""A thousand episodes whose clients are killed leave nothing in the server."""

import json
import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]


def test_killed_clients_leave_no_session_no_process_no_socket_and_no_memory() -> None:
    path = os.pathsep.join([str(TESTS.parent / "src"), str(TESTS)])
    told = subprocess.run(
        [sys.executable, str(TESTS / "killed_clients.py"), "--episodes", "1000"],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        timeout=300,
        check=True,
    )
    report = json.loads(told.stdout)
    after = report["after"]
    assert {name: after[name] for name in ("sessions", "leases", "children", "sockets")} == {
        "sessions": 0,
        "leases": 0,
        "children": 0,
        "sockets": 0,
    }
    assert after["resident_mb"] <= 1.1 * report["before"]["resident_mb"]
