"""Programs of the tests' children."""

import os
import signal
import subprocess
import sys
import time
from typing import Any

from coevolve_environments.protocol import BadRequest, Unavailable


class Counter:
    """Counts, and fails on demand."""

    def __init__(self, start: int = 0, lacks: str | None = None) -> None:
        if lacks:
            raise Unavailable(f"install {lacks}")
        self._count = start
        self._held: list[bytes] = []
        self._open: list[int] = []

    def add(self, number: int) -> int:
        print("a library that prints")
        self._count += number
        return self._count

    def refuse(self) -> None:
        raise BadRequest("invalid on purpose")

    def fail(self) -> None:
        raise ZeroDivisionError("inside the engine")

    def die(self) -> None:
        print("no memory left in the engine\x1b[2J", file=sys.stderr, flush=True)
        os._exit(3)

    def kill(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def exit(self) -> None:
        sys.exit(0)

    def flood(self, seconds: float) -> int:
        """Writes to stderr as fast as it is read, and returns the number of bytes."""
        line, written, end = b"x" * 60 + b"\n", 0, time.monotonic() + seconds
        while time.monotonic() < end:
            written += os.write(2, line)
        return written

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def hold(self, megabytes: int, seconds: float = 0) -> None:
        self._held.append(b"x" * megabytes * 2**20)
        time.sleep(seconds)

    def fill(self, megabytes: int, files: int, deleted: bool, seconds: float = 0) -> None:
        """Writes equal files into a folder of the home, and deletes them while they are open."""
        os.makedirs("deep/folder", exist_ok=True)
        for number in range(files):
            with open(f"deep/folder/{number}", "wb", buffering=0) as file:
                if deleted:
                    os.unlink(file.name)
                    self._open.append(os.dup(file.fileno()))
                for _ in range(megabytes):
                    file.write(b"x" * 2**20)
        time.sleep(seconds)

    def spawn(self, own_session: bool = False) -> int:
        """Starts a grandchild that ignores the end of its input, as a JVM may do."""
        return subprocess.Popen(["sleep", "600"], start_new_session=own_session).pid

    def see(self) -> dict[str, Any]:
        return {"environ": dict(os.environ), "uid": os.getuid(), "cwd": os.getcwd(), "pid": os.getpid()}
