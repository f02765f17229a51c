"""Kills the process groups of children whose server is gone, however it went.

A killed server cannot clean up, and a child that is busy in native code does not see its input end. So one
process of the standard library alone watches a pipe that only the server holds open: `+<group>` lines are
groups to guard, `-<group>` lines groups that have ended, and the end of input means that the server died.
"""

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress


class Guardian:
    """The server's side of that process. One serves all pools."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def guard(self, group: int) -> None:
        self._tell(f"+{group}\n")

    def forget(self, group: int) -> None:
        self._tell(f"-{group}\n")

    def _tell(self, line: str) -> None:
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                self._process = subprocess.Popen(
                    [sys.executable, "-I", "-S", __file__],
                    stdin=subprocess.PIPE,
                    env={},
                    start_new_session=True,  # a Ctrl-C in the server's terminal is not for it
                )
            assert self._process.stdin is not None
            self._process.stdin.write(line.encode())
            self._process.stdin.flush()


GUARDIAN = Guardian()


def main() -> None:
    groups: set[int] = set()
    for line in sys.stdin:
        if line.startswith("+"):
            groups.add(int(line[1:]))
        else:
            groups.discard(int(line[1:]))
    for group in groups:
        with suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)


if __name__ == "__main__":
    main()
