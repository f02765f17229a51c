"""Kills the process groups of children after the server has exited in any way, and removes their homes.

A killed server cannot clean up, and a child that is busy in native code does not see the end of its input. A
small process therefore reads a pipe whose only writer is the server: `+<group> <home>` lines are groups to
watch, `-<group>` lines groups that have ended, and end of input means that the server has exited. It imports
only the standard library.
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
    """The server's end of the pipe. One reaper serves all pools."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watched: dict[int, str] = {}
        self._process: subprocess.Popen[bytes] | None = None

    def watch(self, group: int, home: Path | None = None) -> None:
        """
        Args:
            group: process group of a session leader that the server started.
            home: folder to remove with it.
        """
        with self._lock:
            self._watched[group] = str(home or "")
            self._send(f"+{group} {self._watched[group]}\n")

    def forget(self, group: int) -> None:
        with self._lock:
            self._watched.pop(group, None)
            self._send(f"-{group}\n")

    def _send(self, line: str) -> None:
        """Starts the process at the first line, and again with all watched groups after it was killed."""
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", __file__],
                stdin=subprocess.PIPE,
                env={},
                start_new_session=True,  # a Ctrl-C in the server's terminal must not end it
            )
            line = "".join(f"+{group} {home}\n" for group, home in self._watched.items())
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # killed meanwhile: the next line starts another process
            os.write(self._process.stdin.fileno(), line.encode())


REAPER = Reaper()


def main() -> None:
    watched: dict[int, str] = {}
    for line in sys.stdin:
        group, _, home = line[1:].rstrip("\n").partition(" ")
        if line.startswith("+"):
            watched[int(group)] = home
        else:
            watched.pop(int(group), None)
    for group, home in watched.items():
        with suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)
        if home:
            shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
