"""Runs AppWorld inside a child: one process loads the engine, and each attempt runs in a fork of it.

An attempt runs the policy's code in its fork and can change anything there, including the engine. The next
attempt gets a fork of the unchanged process, so attempts do not affect each other and the engine is loaded
once.
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

from coevolve_environments.plugins.appworld.world import TASK_PARTS, World, load
from coevolve_environments.processes.wall import confine_code
from coevolve_environments.protocol import Json

_LINKED = ("api_docs", "base_dbs")
_MESSAGES_FD = 3  # descriptor of a fork's messages


class Engine:
    """Plays one world at a time, inside the process's home."""

    def __init__(self, data: str, memory_mb: int) -> None:
        """
        Args:
            data: folder with `api_docs`, `base_dbs` and `tasks`.
            memory_mb: limit of a fork's private memory; above it the code gets a MemoryError.
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

    def open(self, task: str, code_seconds: int, instruction: str | None = None) -> Json:
        """Opens a new world of the task and returns its instruction, supervisor and date.

        Args:
            instruction: replaces the task's own.
        """
        self._end()
        parent_end, child_end = socket.socketpair()
        self._fork = os.fork()
        if self._fork == 0:
            _serve(child_end, lambda: self._make_world(task))
        child_end.close()
        self._lines = parent_end.makefile("rw", encoding="utf8")
        parent_end.close()
        opened: Json = self._call("open", task=task, code_seconds=code_seconds, instruction=instruction)
        return opened

    def execute(self, code: str) -> Json:
        """Runs the code and returns its output and whether the task was marked complete."""
        result: Json = self._call("execute", code=code)
        return result

    def state(self) -> Json:
        """Returns the changes of the current world since its start, and the answer."""
        state: Json = self._call("state")
        return state

    def evaluate(self, gold: dict[str, str]) -> Json:
        """Runs the task's tests on the current world, and ends the world.

        Args:
            gold: files of the task's `ground_truth` folder that the evaluation needs.
        """
        tests: Json = self._call("evaluate", gold=gold)
        self._end()
        return tests

    def _make_world(self, task: str) -> World:
        """Makes a world in the fork, behind a further wall: not even the gold of its own task can be read."""
        folder = self._tasks[0] / task
        confine_code([folder / name for name in TASK_PARTS], hidden=self._tasks[0])
        return World(*self._tasks, self._memory_mb)

    def _call(self, method: str, **arguments: Any) -> Any:
        if self._fork is None:
            raise RuntimeError("no world is open")
        try:
            self._lines.write(json.dumps([method, arguments]) + "\n")
            self._lines.flush()
            line = self._lines.readline()
        except OSError:
            line = ""
        if not line:
            self._end()
            raise RuntimeError(f"the world's process exited in {method}")
        reply = json.loads(line)
        if "error" in reply:
            raise RuntimeError(reply["error"])
        return reply["result"]

    def _end(self) -> None:
        if self._fork is not None:
            os.kill(self._fork, signal.SIGKILL)
            os.waitpid(self._fork, 0)
            self._lines.close()
            self._fork = None


def _serve(connection: socket.socket, make: Callable[[], World]) -> NoReturn:
    """Serves calls in the fork. All other descriptors are closed: the policy's code cannot send replies."""
    os.dup2(connection.fileno(), _MESSAGES_FD)
    os.closerange(_MESSAGES_FD + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    lines = os.fdopen(_MESSAGES_FD, "r+b", buffering=0)
    write = lines.write  # the engine disables functions of the standard library while code runs
    world = make()
    for request in iter(lines.readline, b""):
        method, arguments = json.loads(request)
        try:
            reply = {"result": getattr(world, method)(**arguments)}
        except BaseException as error:  # the engine's process raises it as a fault
            reply = {"error": f"{type(error).__name__}: {error}"}
        write(json.dumps(reply).encode() + b"\n")
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("unreachable")
