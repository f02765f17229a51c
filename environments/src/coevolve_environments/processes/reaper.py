"""Kills the processes of children after the server has exited in any way, and removes their homes.

A killed server cannot clean up, and a child that is busy in native code does not see the end of its input. A
small process therefore reads a pipe whose only writer is the server: `+<group> <user> <home>` lines are
groups to watch, `-<group>` lines groups that have ended, and end of input means that the server has exited.
It imports only the standard library.
"""

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any


class Reaper:
    """The server's end of the pipe. One reaper serves all pools."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watched: dict[int, str] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._files: list[int] = []

    def hold_open(self, file: int) -> None:
        """The process holds the open file until it has killed the children of a killed server."""
        with self._lock:
            self._files.append(file)
            if self._process is not None:  # the next line starts another one, which inherits the file
                self._process.kill()
                self._process.wait()

    def watch(self, group: int, home: Path | None = None, user: int | None = None) -> None:
        """
        Args:
            group: process group of a session leader that the server started.
            home: folder to remove with it.
            user: see `kill_processes`.
        """
        with self._lock:
            self._watched[group] = f"{'' if user is None else user} {home or ''}"
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
                pass_fds=self._files,
                start_new_session=True,  # a Ctrl-C in the server's terminal must not end it
            )
            line = "".join(f"+{group} {rest}\n" for group, rest in self._watched.items())
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # killed meanwhile: the next line starts another process
            os.write(self._process.stdin.fileno(), line.encode())


REAPER = Reaper()


def kill_processes(group: int, user: int | None = None) -> None:
    """Kills a process group, and all processes of a user that only one child has.

    A process that starts its successor in a session of its own and exits, 10,000 times per second, leaves the
    group, and no list of processes contains it in time. The kernel signals all processes of a user at once.
    """
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
    if user is not None:
        _run("/bin/sh", "-c", "kill -9 -1", user=user, group=user, extra_groups=[])


def remove_home(home: Path | str) -> None:
    """Removes a folder whose content is a child's, follows no link, and raises no error.

    `shutil.rmtree` recurses: at 1,000 folders in each other it raised RecursionError.
    """
    _run("/bin/rm", "-rf", "--", home)
    if os.path.lexists(home):  # folders without write permission, where the server is not root
        _run("/bin/chmod", "-R", "u+rwx", "--", home)
        _run("/bin/rm", "-rf", "--", home)


def _run(*command: str | Path, **options: Any) -> None:
    nothing = subprocess.DEVNULL
    with suppress(OSError, subprocess.SubprocessError):
        subprocess.run(command, stdin=nothing, stdout=nothing, stderr=nothing, check=False, **options)


def main() -> None:
    watched: dict[int, tuple[str, str]] = {}
    for line in sys.stdin:
        group, _, rest = line[1:].rstrip("\n").partition(" ")
        user, _, home = rest.partition(" ")
        if line.startswith("+"):
            watched[int(group)] = (user, home)
        else:
            watched.pop(int(group), None)
    for group, (user, _) in watched.items():
        kill_processes(int(group), int(user) if user else None)
    for _, home in watched.values():
        if home:
            remove_home(home)


if __name__ == "__main__":
    main()
