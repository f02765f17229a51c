"""Ends code of another author in this thread, such as a template with an endless loop."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class DeadlineExceeded(Exception):
    """Raised in the block of `deadline`."""


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Raises DeadlineExceeded in the block after some seconds, between two instructions of Python.

    A signal would reach the main thread only, and a policy server renders in others.
    """
    thread = threading.get_ident()
    lock = threading.Lock()
    ended = fired = False

    def fire() -> None:
        nonlocal fired
        with lock:
            if not ended:
                fired = True
                _raise_in(thread, DeadlineExceeded)

    timer = threading.Timer(seconds, fire)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        with lock:
            ended = True
            if fired:
                _raise_in(thread, None)  # if it is still pending
        timer.cancel()


def _raise_in(thread: int, error: type[BaseException] | None) -> None:
    exception = None if error is None else ctypes.py_object(error)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), exception)
