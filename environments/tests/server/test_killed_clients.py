"""A thousand episodes with killed clients free all resources of the server."""

import json
import os
import subprocess
import sys

from conftest import TESTS


def test_killed_clients_leave_no_session_process_socket_or_memory() -> None:
    path = os.pathsep.join([str(TESTS.parent / "src"), str(TESTS)])
    completed = subprocess.run(
        [sys.executable, str(TESTS / "killed_clients.py"), "--episodes", "1000"],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        timeout=300,
        check=True,
    )
    report = json.loads(completed.stdout)
    after = report["after"]
    assert {name: after[name] for name in ("sessions", "leases", "children", "sockets")} == {
        "sessions": 0,
        "leases": 0,
        "children": 0,
        "sockets": 0,
    }
    assert after["resident_mb"] <= 1.1 * report["before"]["resident_mb"]
