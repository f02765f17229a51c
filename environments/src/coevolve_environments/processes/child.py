"""One child process of a pool: calls by method name, memory checks, kill of its whole process tree."""

import io
import logging
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

import psutil

from coevolve_environments.processes.json_pipe import JsonPipe, MessageTooLong, PipeClosed
from coevolve_environments.processes.launcher import MAX_PROCESSES, LaunchedProcess
from coevolve_environments.processes.reaper import REAPER, kill_processes, remove_home
from coevolve_environments.processes.tree_usage import DiskUsage, ResidentMemory
from coevolve_environments.processes.user_ids import USER_IDS
from coevolve_environments.protocol import BadRequest, Json, NotSupported, Unavailable

log = logging.getLogger(__name__)

FaultKind = Literal[
    "crashed",
    "killed",
    "timeout",
    "out-of-memory",
    "out-of-disk",
    "out-of-processes",
    "error",
    "invalid-output",
]

_FORWARDED: dict[str, type[Exception]] = {
    error.__name__: error for error in (BadRequest, NotSupported, Unavailable)
}
_KILLED = (-signal.SIGKILL, -signal.SIGTERM)
_KILL_SECONDS = 5.0
_REAP_SECONDS = 1.0
_EXIT_SECONDS = 0.5  # wait for exit code and stderr of a process that closed its pipe
_LOGGED_LINES = 200  # of a child's stderr; the rest is read slowly and dropped, whatever the child writes
_DROPPED_BYTES, _DROPPED_SECONDS = 65_536, 0.02
_LOGGED_CHARACTERS = 500
_MEGABYTE = 2**20


class ChildFault(Exception):
    """A call without a result from its child: a fault of the environment, never a reward."""

    def __init__(self, kind: FaultKind, message: str) -> None:
        """
        Args:
            kind: the child exited, was killed by another program, exceeded its deadline or a limit, raised
                an exception, or wrote no JSON. It is killed in every case but `error`.
        """
        super().__init__(message)
        self.kind: FaultKind = kind


@dataclass(frozen=True)
class ChildLimits:
    memory_mb: int
    disk_mb: int
    start_seconds: float
    call_seconds: float


class Child:
    """A process that a pool started. `call` and `release` belong to the caller that acquired it; any thread
    may call `end`.
    """

    def __init__(
        self,
        name: str,
        launched: LaunchedProcess,
        limits: ChildLimits,
        on_free: Callable[["Child", bool], None],
    ) -> None:
        """
        Args:
            on_free: called once the child was released (True) or has ended (False).
        """
        self.pid = launched.process.pid
        self.episodes = 0
        self._name = f"{name}[{self.pid}]"
        self._process = launched.process
        self._home = launched.home
        self._user = launched.user
        self._limits = limits
        self._on_free = on_free
        self._ended = False
        self._failure: tuple[FaultKind, str] | None = None
        self._state_lock = threading.Lock()
        self._call_lock = threading.RLock()
        self._memory = ResidentMemory(self.pid)
        self._disk = DiskUsage(self._home, limits.disk_mb * _MEGABYTE)
        self._last_stderr: deque[str] = deque(maxlen=3)
        REAPER.watch(self.pid, self._home, self._user)
        self._pipe = JsonPipe(self._process, lambda: self._ended)
        self._logger = threading.Thread(target=self._log_stderr, name=self._name, daemon=True)
        self._logger.start()

    @property
    def ended(self) -> bool:
        return self._ended

    def start(self, first_message: Json) -> None:
        """
        Args:
            first_message: the launcher's.

        Raises:
            ChildFault, BadRequest, Unavailable: the object could not be made; the child has ended.
        """
        try:
            self._exchange(first_message, self._limits.start_seconds, "start")
        except Exception:
            self.end()
            raise

    def call(self, method: str, **arguments: Any) -> Any:
        """Calls a method of the child's object. Arguments and result are JSON.

        Raises:
            BadRequest, NotSupported, Unavailable: the method raised it.
            ChildFault: the call has no result.
        """
        message = {"method": method, "arguments": arguments}
        return self._exchange(message, self._limits.call_seconds, method)

    def release(self) -> None:
        """Counts an episode that ended well; the pool reuses the child until its number of episodes."""
        self.episodes += 1
        self._on_free(self, True)

    def measure(self) -> int:
        """Returns resident bytes of the child and its descendants. Kills the child past a limit."""
        resident = 0 if self._ended else self._memory.measure()
        if resident > self._limits.memory_mb * _MEGABYTE:
            used = f"{resident // _MEGABYTE} MB, its limit is {self._limits.memory_mb} MB"
            self._fail("out-of-memory", f"{self._name} used {used}")
        elif not self._ended and self._disk.measure(self._memory.pids()) > self._limits.disk_mb * _MEGABYTE:
            self._fail("out-of-disk", f"{self._name} filled its home, its limit is {self._limits.disk_mb} MB")
        elif not self._ended and self._user is None and self._memory.threads() > MAX_PROCESSES:
            self._fail(
                "out-of-processes", f"{self._name} had more than {MAX_PROCESSES} processes and threads"
            )
        return resident

    def end(self) -> None:
        """Kills the child with all its descendants and removes its home. Idempotent."""
        with self._state_lock:
            if self._ended:
                return
            self._ended = True
        self._kill()
        with self._call_lock:  # a call in another thread must return before its pipes are closed
            self._pipe.close()
        remove_home(self._home)
        REAPER.forget(self.pid)  # later, the home of a server that exits now is removed too
        if self._user is not None:
            USER_IDS.release(self._user)
        self._on_free(self, False)

    def _exchange(self, message: Any, seconds: float, operation: str) -> Any:
        with self._call_lock:
            try:
                reply = self._pipe.exchange(message, seconds)
            except TimeoutError:
                raise self._fail(
                    "timeout", f"{self._name}: {operation} took more than {seconds:g} s"
                ) from None
            except PipeClosed:
                details = self._exit_details()
                killed = self._ended or self._process.poll() in _KILLED
                kind: FaultKind = "killed" if killed else "crashed"
                verb = "was killed" if killed else "exited"
                raise self._fail(kind, f"{self._name} {verb} in {operation}{details}") from None
            except (MessageTooLong, ValueError) as error:
                raise self._fail(
                    "invalid-output", f"{self._name}: {operation} wrote no result: {error}"
                ) from None
        self.measure()
        if self._failure is not None:
            raise ChildFault(*self._failure)
        return self._result(reply)

    def _result(self, reply: Any) -> Any:
        if not isinstance(reply, dict):
            raise self._fail("invalid-output", f"{self._name} wrote no JSON object")
        if "error" not in reply:
            return reply.get("result")
        if forwarded := _FORWARDED.get(reply["error"]):
            raise forwarded(reply["message"])
        raise ChildFault("error", f"{self._name}: {reply['message']}")

    def _fail(self, kind: FaultKind, message: str) -> ChildFault:
        """Ends the child. All callers get the first failure."""
        with self._state_lock:
            self._failure = self._failure or (kind, message)
        self.end()
        return ChildFault(*self._failure)

    def _kill(self) -> None:
        # Listed before the kill: descendants outside the group are found only by their parents.
        strays = self._memory.descendants()
        kill_processes(self.pid, self._user)
        for stray in strays:
            with suppress(psutil.NoSuchProcess):
                stray.kill()
        try:
            self._process.wait(_KILL_SECONDS)
        except subprocess.TimeoutExpired:
            log.error("%s: still running %g s after SIGKILL", self._name, _KILL_SECONDS)
        # The server reaps them where it is a container's first process.
        psutil.wait_procs(strays, _REAP_SECONDS)

    def _exit_details(self) -> str:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_EXIT_SECONDS)
        self._logger.join(_EXIT_SECONDS)
        code = self._process.poll()
        stderr = " | ".join(self._last_stderr)
        return (f" with exit code {code}" if code is not None else "") + (f": {stderr}" if stderr else "")

    def _log_stderr(self) -> None:
        stderr = self._process.stderr
        assert isinstance(stderr, io.BufferedReader)
        with stderr:
            for line in islice(iter(lambda: stderr.readline(_LOGGED_CHARACTERS), b""), _LOGGED_LINES):
                self._last_stderr.append(_visible(line))
                log.info("%s: %s", self._name, self._last_stderr[-1])
            if dropped := stderr.read1(_DROPPED_BYTES):
                log.warning("%s: stderr is not logged after %d lines", self._name, _LOGGED_LINES)
            while dropped:
                last = dropped[-_LOGGED_CHARACTERS:].splitlines()
                self._last_stderr.extend(map(_visible, last))
                time.sleep(_DROPPED_SECONDS)
                dropped = stderr.read1(_DROPPED_BYTES)


def _visible(line: bytes) -> str:
    """Replaces control characters by visible escapes: a log is read in a terminal."""
    text = line.decode(errors="replace").rstrip()
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
