"""Ends a process whose work has stopped moving, from a thread of its own."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

from .failures import EXIT_CODES, JobFailure


class Watchdog:
    """Waits for signs of life. Without one for `timeout_s` it reports `stalled` and ends the process.

    What hangs cannot be asked to stop, so the process leaves without another word: all that a job has done
    is in its last checkpoint, from which it goes on.
    """

    def __init__(self, timeout_s: float, report: Callable[[JobFailure], None]) -> None:
        self._timeout_s, self._report = timeout_s, report
        self._idle_s, self._waiting, self._ended = 0.0, False, Event()
        self._thread = Thread(target=self._watch, name="watchdog", daemon=True)

    def beat(self) -> None:
        """A pass, an update or a checkpoint is done."""
        self._idle_s = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Watches until the block ends."""
        self._thread.start()
        try:
            yield
        finally:
            self._ended.set()
            self._thread.join()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Within the block somebody else is waited for: that is no stall."""
        self._waiting = True
        try:
            yield
        finally:
            self.beat()
            self._waiting = False

    def _watch(self) -> None:
        interval_s = min(1.0, self._timeout_s / 5)
        before = time.monotonic()
        while not self._ended.wait(interval_s):
            now = time.monotonic()
            # A process that was halted and goes on has not idled for all that time
            self._idle_s += min(now - before, 2 * interval_s)
            before = now
            if self._waiting:
                self._idle_s = 0.0
            elif self._idle_s > self._timeout_s:
                message = f"no sign of life for {self._timeout_s:g} s; start it again to go on"
                self._report(JobFailure("stalled", message))
                os._exit(EXIT_CODES["stalled"])
