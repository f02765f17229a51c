"""The child's side: a process that has AppWorld's engine loaded, and one fork of it for each attempt.

An attempt runs a policy's code in its fork and can change anything there, the engine included; the next
attempt gets a fork of the untouched process. So no attempt sees what another left, and what loading costs is
paid once.
"""

import gc
import json
import os
import resource
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from coevolve_environments.plugins.appworld.world import World, load
from coevolve_environments.protocol import Json

_LINKED = ("api_docs", "base_dbs")
_LINE = 3  # the descriptor of a fork's messages


class Engine:
    """One world at a time, below the process's own home."""

    def __init__(self, data: str, memory_mb: int) -> None:
        """
        Args:
            data: folder with `api_docs`, `base_dbs` and `tasks`.
            memory_mb: bound of a fork's private memory: past it the code gets a MemoryError.
        """
        root = Path.home() / "appworld"
        (root / "data" / "tasks").mkdir(parents=True)
        for name in _LINKED:
            (root / "data" / name).symlink_to(Path(data) / name)
        os.environ["APPWORLD_ROOT"] = str(root)
        os.environ["APPWORLD_CACHE"] = str(root / "cache")
        load()
        gc.freeze()  # a collection in a fork would copy every page of it
        self._tasks = (Path(data) / "tasks", root / "data" / "tasks")
        self._memory_mb = memory_mb
        self._fork: int | None = None
        self._lines: Any = None

    def open(self, task: str, code_seconds: int) -> Json:
        """A fresh world of the task, instead of the one before: its instruction, supervisor and date."""
        self._end()
        ours, theirs = socket.socketpair()
        self._fork = os.fork()
        if self._fork == 0:
            _serve(theirs, lambda: World(*self._tasks, self._memory_mb))
        theirs.close()
        self._lines = ours.makefile("rw", encoding="utf8")
        ours.close()
        opened: Json = self._ask("open", task=task, code_seconds=code_seconds)
        return opened

    def execute(self, code: str) -> Json:
        """Runs the code; gives its output and whether the task was marked complete."""
        done: Json = self._ask("execute", code=code)
        return done

    def evaluate(self, gold: dict[str, str]) -> Json:
        """Runs the task's tests on the world as it stands, and ends it.

        Args:
            gold: the files of the task's `ground_truth` folder that its evaluation needs.
        """
        tests: Json = self._ask("evaluate", gold=gold)
        self._end()
        return tests

    def _ask(self, method: str, **arguments: Any) -> Any:
        if self._fork is None:
            raise RuntimeError("no world is open")
        try:
            self._lines.write(json.dumps([method, arguments]) + "\n")
            self._lines.flush()
            answer = self._lines.readline()
        except OSError:
            answer = ""
        if not answer:
            self._end()
            raise RuntimeError(f"the world's process died in {method}")
        reply = json.loads(answer)
        if "error" in reply:
            raise RuntimeError(reply["error"])
        return reply["result"]

    def _end(self) -> None:
        if self._fork is not None:
            os.kill(self._fork, signal.SIGKILL)
            os.waitpid(self._fork, 0)
            self._lines.close()
            self._fork = None


def _serve(line: socket.socket, make: Callable[[], World]) -> NoReturn:
    """The fork's life. It holds no other pipe of the process: its code cannot speak in the engine's name."""
    os.dup2(line.fileno(), _LINE)
    os.closerange(_LINE + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    lines = os.fdopen(_LINE, "r+b", buffering=0)
    write = lines.write  # the engine takes functions of the standard library away while code runs
    world = make()
    for request in iter(lines.readline, b""):
        method, arguments = json.loads(request)
        try:
            reply = {"result": getattr(world, method)(**arguments)}
        except BaseException as error:  # told to the engine's process, which makes it a fault
            reply = {"error": f"{type(error).__name__}: {error}"}
        write(json.dumps(reply).encode() + b"\n")
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("unreachable")
