"""One child process of a pool: called by name, watched, and killed with all that it started."""

import logging
import os
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Any, Literal

import psutil

from coevolve_environments.processes.json_pipe import JsonPipe, MessageTooLong, PipeClosed
from coevolve_environments.processes.launcher import Launched, remove_home
from coevolve_environments.processes.reaper import REAPER
from coevolve_environments.processes.resident_memory import ResidentMemory
from coevolve_environments.protocol import BadRequest, Json, NotSupported, Unavailable

log = logging.getLogger(__name__)

FaultKind = Literal["died", "slow", "large", "raised", "garbled"]

_PASSED_ON: dict[str, type[Exception]] = {
    error.__name__: error for error in (BadRequest, NotSupported, Unavailable)
}
_KILL_SECONDS = 5.0
_REAP_SECONDS = 1.0
_LAST_WORDS_SECONDS = 0.5
_LOGGED_LINES = 200  # of a child's stderr; the rest is read and dropped
_LOGGED_CHARACTERS = 500
_MEGABYTE = 2**20


class ChildFault(Exception):
    """A call that a child did not answer: a fault of the environment, never a result."""

    def __init__(self, kind: FaultKind, message: str) -> None:
        """
        Args:
            kind: it died, passed its deadline (slow) or its memory bound (large), raised, or wrote no JSON.
                The child is ended in every case but `raised`.
        """
        super().__init__(message)
        self.kind: FaultKind = kind


@dataclass(frozen=True)
class ChildLimits:
    memory_mb: int
    start_seconds: float
    call_seconds: float


class Child:
    """Made by a pool. `call` and `release` belong to the caller that took it; `end` to any thread."""

    def __init__(
        self,
        name: str,
        launched: Launched,
        limits: ChildLimits,
        left: Callable[["Child", bool], None],
    ) -> None:
        """
        Args:
            left: told once it was given back (True) or has ended (False).
        """
        self.pid = launched.process.pid
        self.episodes = 0
        self._name = f"{name}[{self.pid}]"
        self._process = launched.process
        self._home = launched.home
        self._limits = limits
        self._left = left
        self._ended = False
        self._why: tuple[FaultKind, str] | None = None
        self._state = threading.Lock()
        self._calling = threading.RLock()
        self._resident = ResidentMemory(self.pid)
        self._said: deque[str] = deque(maxlen=3)
        REAPER.guard(self.pid, self._home)
        self._pipe = JsonPipe(self._process, lambda: self._ended)
        self._logger = threading.Thread(target=self._log_stderr, name=self._name, daemon=True)
        self._logger.start()

    @property
    def ended(self) -> bool:
        return self._ended

    def start(self, welcome: Json) -> None:
        """
        Args:
            welcome: the launcher's.

        Raises:
            ChildFault, BadRequest, Unavailable: the object could not be made; the child is ended.
        """
        try:
            self._exchange(welcome, self._limits.start_seconds, "start")
        except Exception:
            self.end()
            raise

    def call(self, method: str, **arguments: Any) -> Any:
        """Calls a method of the child's object. JSON in, JSON out.

        Raises:
            BadRequest, NotSupported, Unavailable: the method raised it.
            ChildFault: there is no answer.
        """
        message = {"method": method, "arguments": arguments}
        return self._exchange(message, self._limits.call_seconds, method)

    def release(self) -> None:
        """The episode ended well: the child may play another, until it has played its share."""
        self.episodes += 1
        self._left(self, True)

    def measure(self) -> int:
        """Resident bytes of it and its descendants. Past the bound it is killed."""
        resident = 0 if self._ended else self._resident.measure()
        if resident > self._limits.memory_mb * _MEGABYTE:
            held = f"{resident // _MEGABYTE} MB, its bound is {self._limits.memory_mb} MB"
            self._fail("large", f"{self._name} held {held}")
        return resident

    def end(self) -> None:
        """Kills it and all its descendants, and removes its home. Harmless when repeated."""
        with self._state:
            if self._ended:
                return
            self._ended = True
        self._kill()
        with self._calling:  # a call in another thread has seen the end before its pipes are closed
            self._pipe.close()
        remove_home(self._home)
        self._left(self, False)

    def _exchange(self, message: Any, seconds: float, what: str) -> Any:
        with self._calling:
            try:
                reply = self._pipe.exchange(message, seconds)
            except TimeoutError:
                raise self._fail("slow", f"{self._name}: {what} took more than {seconds:g} s") from None
            except PipeClosed:
                verb = "was ended" if self._ended else "died"
                raise self._fail("died", f"{self._name} {verb} in {what}{self._last_words()}") from None
            except (MessageTooLong, ValueError) as error:
                raise self._fail("garbled", f"{self._name}: {what} wrote no answer: {error}") from None
        self.measure()
        if self._why is not None:
            raise ChildFault(*self._why)
        return self._result(reply)

    def _result(self, reply: Any) -> Any:
        if not isinstance(reply, dict):
            raise self._fail("garbled", f"{self._name} wrote no object")
        if "error" not in reply:
            return reply.get("result")
        if passed_on := _PASSED_ON.get(reply["error"]):
            raise passed_on(reply["message"])
        raise ChildFault("raised", f"{self._name}: {reply['message']}")

    def _fail(self, kind: FaultKind, message: str) -> ChildFault:
        """Ends the child; what it failed of first is what everybody is told."""
        with self._state:
            self._why = self._why or (kind, message)
        self.end()
        return ChildFault(*self._why)

    def _kill(self) -> None:
        strays = (
            self._resident.descendants()
        )  # before it dies: those that left its group are found by parentage
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        for stray in strays:
            with suppress(psutil.NoSuchProcess):
                stray.kill()
        REAPER.forget(self.pid)
        try:
            self._process.wait(_KILL_SECONDS)
        except subprocess.TimeoutExpired:
            log.error("%s: still there %g s after SIGKILL", self._name, _KILL_SECONDS)
        # They are ours to reap where the server is a container's first process.
        psutil.wait_procs(strays, _REAP_SECONDS)

    def _last_words(self) -> str:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_LAST_WORDS_SECONDS)
        self._logger.join(_LAST_WORDS_SECONDS)
        code = self._process.poll()
        words = " | ".join(self._said)
        return (f" with exit code {code}" if code is not None else "") + (f": {words}" if words else "")

    def _log_stderr(self) -> None:
        stderr: IO[bytes] | None = self._process.stderr
        assert stderr is not None
        with stderr:
            for number, line in enumerate(iter(lambda: stderr.readline(_LOGGED_CHARACTERS), b"")):
                text = line.decode(errors="replace").rstrip()
                self._said.append(text)
                if number < _LOGGED_LINES:
                    log.info("%s: %s", self._name, text)
                elif number == _LOGGED_LINES:
                    log.warning("%s: says no more here after %d lines", self._name, _LOGGED_LINES)
