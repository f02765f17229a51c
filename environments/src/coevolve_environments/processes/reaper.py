"""Kills the process groups of children whose server is gone, however it went, and removes their homes.

A killed server cannot clean up, and a child that is busy in native code does not see its input end. So one
process of the standard library alone watches a pipe that only the server holds open: `+<group> <home>` lines
are groups to guard, `-<group>` lines groups that have ended, and the end of input is the end of the server.
"""

import os
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path


class Reaper:
    """The server's side of that process. One serves all pools."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._guarded: dict[int, str] = {}
        self._process: subprocess.Popen[bytes] | None = None

    def guard(self, group: int, home: Path | None = None) -> None:
        """
        Args:
            group: of a session leader that the server started.
            home: a folder to remove with it.
        """
        with self._lock:
            self._guarded[group] = str(home or "")
            self._tell(f"+{group} {self._guarded[group]}\n")

    def forget(self, group: int) -> None:
        with self._lock:
            self._guarded.pop(group, None)
            self._tell(f"-{group}\n")

    def _tell(self, line: str) -> None:
        """Starts it at the first line, and anew, with all that it must know, when somebody killed it."""
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", __file__],
                stdin=subprocess.PIPE,
                env={},
                start_new_session=True,  # a Ctrl-C in the server's terminal is not for it
            )
            line = "".join(f"+{group} {home}\n" for group, home in self._guarded.items())
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # killed just now: the next line starts another
            os.write(self._process.stdin.fileno(), line.encode())


REAPER = Reaper()


def main() -> None:
    guarded: dict[int, str] = {}
    for line in sys.stdin:
        group, _, home = line[1:].rstrip("\n").partition(" ")
        if line.startswith("+"):
            guarded[int(group)] = home
        else:
            guarded.pop(int(group), None)
    for group, home in guarded.items():
        with suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)
        if home:
            shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
