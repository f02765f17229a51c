"""The trainer server forks jobs for valid requests, and refuses others without harm."""

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from coevolve_trainer.serve import MAX_REQUEST_BYTES, parse_request
from job_folder import SOURCES, JobFolder, wait_until


class Server:
    """A server of a copy of the trainer's code."""

    def __init__(self, folder: Path) -> None:
        self.code = folder / "src"
        shutil.copytree(SOURCES, self.code, ignore=shutil.ignore_patterns("__pycache__"))
        # The path of the socket is too long for an address
        self.socket = folder / ("deep" * 50) / "trainers.sock"
        self.socket.parent.mkdir(mode=0o700)
        command = [sys.executable, "-m", "coevolve_trainer", "serve", str(self.socket)]
        self.process = subprocess.Popen(command, env=os.environ | {"PYTHONPATH": str(self.code)})
        wait_until(self.listens)

    def listens(self) -> bool:
        try:  # the file exists before the server listens
            self.connect().close()
        except (FileNotFoundError, ConnectionRefusedError):
            return False
        return True

    def connect(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX)
        folder = os.open(self.socket.parent, os.O_RDONLY)
        try:
            connection.connect(f"/proc/self/fd/{folder}/{self.socket.name}")
        finally:
            os.close(folder)
        return connection

    def send(self, line: bytes) -> dict[str, Any]:
        """Returns the answer to a line; sends nothing more."""
        with self.connect() as connection:
            connection.sendall(line)
            answer: dict[str, Any] = json.loads(connection.makefile().readline())
            return answer


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("server"))
    yield server
    server.process.kill()
    server.process.wait()


def request(job: JobFolder) -> bytes:
    variables = {"COEVOLVE_STACK": "/some/home", **os.environ}
    fields = {"job": str(job.folder), "log": str(job.folder / "log"), "environment": variables}
    return json.dumps(fields).encode() + b"\n"


def sft(folder: Path, datasets: Path, base: Path) -> JobFolder:
    return JobFolder(
        folder, method="sft", base=base, dataset=datasets / "experts.jsonl", settings={"updates": 2}
    )


def has_ended(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


def test_a_confirmed_request_runs_the_job_as_its_command_does(
    server: Server, tmp_path: Path, datasets: Path, base: Path
) -> None:
    forked, spawned = sft(tmp_path / "forked", datasets, base), sft(tmp_path / "spawned", datasets, base)
    with server.connect() as connection:
        connection.sendall(request(forked))
        answer = json.loads(connection.makefile().readline())
        pid = answer["pid"]
        process = Path(f"/proc/{pid}")
        fields = (process / "stat").read_text().rpartition(")")[2].split()
        assert answer["start_time"] == fields[19]
        assert fields[2:4] == [str(pid), str(pid)]  # it leads a group and a session
        command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode().rstrip()
        assert command.endswith(f"/python -m coevolve_trainer run {forked.folder}")
        assert b"COEVOLVE_STACK=/some/home" in (process / "environ").read_bytes().split(b"\0")
        connection.sendall(b"go\n")
    wait_until(lambda: has_ended(pid))
    assert spawned.spawn().wait() == 0
    assert forked.status["policy_hash"] == spawned.status["policy_hash"]
    assert forked.status["pid"] == pid


def test_the_log_of_a_forked_job_has_its_errors(server: Server, tmp_path: Path, datasets: Path) -> None:
    job = JobFolder(tmp_path / "job", method="sft", dataset=datasets / "experts.jsonl", seed="none")
    with server.connect() as connection:
        connection.sendall(request(job))
        pid = json.loads(connection.makefile().readline())["pid"]
        connection.sendall(b"go\n")
    wait_until(lambda: has_ended(pid))
    assert "bad-input: seed" in (job.folder / "log").read_text()


def test_a_request_without_confirmation_changes_nothing(
    server: Server, tmp_path: Path, datasets: Path, base: Path
) -> None:
    job = sft(tmp_path / "job", datasets, base)
    pid = server.send(request(job))["pid"]
    wait_until(lambda: has_ended(pid))
    assert sorted(file.name for file in job.folder.iterdir()) == ["job.json", "log"]


VALID = {"job": "/", "log": "/log", "environment": {"NAME": "value"}}


def test_a_valid_request_is_parsed() -> None:
    assert parse_request(json.dumps(VALID).encode()).environment == {"NAME": "value"}


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"{", "Expecting"),
        (b"\xff", "codec"),
        (b"[]", "fields"),
        (json.dumps({**VALID, "more": 1}).encode(), "fields"),
        (json.dumps({"job": "/", "log": "/log"}).encode(), "fields"),
        (json.dumps({**VALID, "job": "etc"}).encode(), "absolute"),
        (json.dumps({**VALID, "log": 7}).encode(), "absolute"),
        (json.dumps({**VALID, "log": "/a\0b"}).encode(), "absolute"),
        (json.dumps({**VALID, "job": "/no/such/folder"}).encode(), "no folder"),
        (json.dumps({**VALID, "environment": ["A=1"]}).encode(), "environment"),
        (json.dumps({**VALID, "environment": {"A": 1}}).encode(), "environment"),
        (json.dumps({**VALID, "environment": {"A=B": "1"}}).encode(), "environment"),
    ],
)
def test_an_invalid_request_is_refused(server: Server, line: bytes, problem: str) -> None:
    assert problem in server.send(line + b"\n")["refused"]


def test_the_server_survives_long_deep_and_incomplete_requests(server: Server) -> None:
    assert "line of at most" in server.send(b" " * (MAX_REQUEST_BYTES + 1))["refused"]
    assert "recursion" in server.send(b"[" * 100_000 + b"\n")["refused"]
    with server.connect() as connection:
        connection.sendall(b"{")
        connection.shutdown(socket.SHUT_WR)
        assert "line of at most" in connection.makefile().readline()
    assert server.process.poll() is None


def test_the_socket_belongs_to_its_user_alone(server: Server) -> None:
    assert server.socket.stat().st_mode & 0o777 == 0o600


def test_a_server_of_changed_code_refuses_and_exits(
    server: Server, tmp_path: Path, datasets: Path, base: Path
) -> None:
    file = server.code / "coevolve_trainer" / "losses" / "preference.py"
    file.touch()  # alone it changes nothing
    assert "pid" in server.send(request(sft(tmp_path / "touched", datasets, base)))
    file.write_text(file.read_text() + "# more\n")
    assert "changed" in server.send(request(sft(tmp_path / "job", datasets, base)))["refused"]
    assert server.process.wait(10) == 0
