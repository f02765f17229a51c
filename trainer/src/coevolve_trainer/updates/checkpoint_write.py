"""The write of a checkpoint, in a thread beside the updates or while they wait; at most one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event

from ..process_group import ProcessGroup
from ..progress import Progress


class CheckpointWrite:
    """Reports a checkpoint once it is durable. Every process of a job has one and makes the same calls."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._executor = ThreadPoolExecutor(1, "checkpoint")
        self._pending: tuple[int, Future[bool]] | None = None  # update, and whether it is the best

    def start(self, step: int, write: Callable[[], bool]) -> None:
        """Starts `write`, which publishes the checkpoint of update `step`, after the write before it."""
        self.finish()
        self._pending = step, self._executor.submit(write)

    def run(self, step: int, write: Callable[[], bool], *, reason: str | None = None) -> None:
        """Makes the write while the updates wait; `reason` is set if they should not have to."""
        self.finish()
        self._report(step, write(), {} if reason is None else {"updates_waited": reason})

    def finish(self) -> None:
        """Waits for the write in flight; raises its failure."""
        if self._pending is not None:
            (step, future), self._pending = self._pending, None
            self._report(step, future.result(), {})

    def poll(self, process_group: ProcessGroup, stop: Event) -> bool:
        """Returns whether any process received SIGTERM; collective: call it on every process.

        All processes together also report a checkpoint that was written meanwhile, or raise its failure.
        """
        by_rank = process_group.all_gather(lambda: (stop.is_set(), self._is_done()))
        should_stop = any(stopped for stopped, _ in by_rank)
        if should_stop or all(done for _, done in by_rank):
            self.finish()
        return should_stop

    def _is_done(self) -> bool:
        return self._pending is None or self._pending[1].done()

    @contextmanager
    def settled(self) -> Iterator[None]:
        """When the block fails, waits for the write in flight; the block's failure is the one to report."""
        try:
            yield
        except BaseException:
            self._settle()
            raise

    def _settle(self) -> None:
        if self._pending is not None and self._pending[1].exception() is None:
            self.finish()

    def _report(self, step: int, is_best: bool, fields: dict[str, str]) -> None:
        self._progress.log_event("checkpoint", step=step, best=is_best, **fields)
