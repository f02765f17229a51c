"""Exits a process whose work makes no progress, from a separate thread."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

from .failures import EXIT_CODES, JobFailure


class Watchdog:
    """Reports `stalled` and exits the process when `reset` is not called for `timeout_s`.

    A thread that hangs cannot be interrupted, so the process exits without cleanup; the job resumes from its
    last checkpoint.
    """

    def __init__(self, timeout_s: float, report: Callable[[JobFailure], None]) -> None:
        self._timeout_s, self._report = timeout_s, report
        self._idle_s, self._paused, self._ended = 0.0, False, Event()
        self._thread = Thread(target=self._watch, name="watchdog", daemon=True)

    def reset(self) -> None:
        """Restarts the timeout: a pass, an update or a checkpoint is done."""
        self._idle_s = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Runs the watchdog until the block ends."""
        self._thread.start()
        try:
            yield
        finally:
            self._ended.set()
            self._thread.join()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stops the timeout within the block, in which the job waits for its input."""
        self._paused = True
        try:
            yield
        finally:
            self.reset()
            self._paused = False

    def _watch(self) -> None:
        interval_s = min(1.0, self._timeout_s / 5)
        before = time.monotonic()
        while not self._ended.wait(interval_s):
            now = time.monotonic()
            # The time during which the whole process was suspended (SIGSTOP) does not count as idle
            self._idle_s += min(now - before, 2 * interval_s)
            before = now
            if self._paused:
                self._idle_s = 0.0
            elif self._idle_s > self._timeout_s:
                message = f"no progress for {self._timeout_s:g} s; start the job again to resume"
                self._report(JobFailure("stalled", message))
                os._exit(EXIT_CODES["stalled"])
