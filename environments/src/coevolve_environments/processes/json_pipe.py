"""JSON lines over the two pipes of a child, with a deadline that the parent keeps."""

import json
import os
import select
import subprocess
import time
from collections.abc import Callable
from typing import Any

_SLICE_SECONDS = 0.2  # how late an end from another thread is seen when a stray process holds the pipe open
_MOST_BYTES = 64 * 2**20
_CHUNK = 2**16


class PipeClosed(Exception):
    """The child closed its side, or was ended."""


class MessageTooLong(Exception):
    """The child wrote more than one message may have."""


class JsonPipe:
    """One caller at a time. Nothing here blocks past the deadline, whatever the child does."""

    def __init__(self, process: subprocess.Popen[bytes], ended: Callable[[], bool]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._in, self._out = process.stdin, process.stdout
        self._ended = ended
        self._read = bytearray()
        os.set_blocking(self._in.fileno(), False)
        os.set_blocking(self._out.fileno(), False)

    def exchange(self, message: Any, seconds: float) -> Any:
        """
        Raises:
            TimeoutError, PipeClosed, TooLong: there is no answer, and none can be had later.
            ValueError: the answer is not JSON.
        """
        deadline = time.monotonic() + seconds
        self._write(json.dumps(message).encode() + b"\n", deadline)
        return json.loads(self._read_line(deadline))

    def close(self) -> None:
        for pipe in (self._in, self._out):
            try:
                pipe.close()
            except OSError:  # unsent bytes for a child that is gone
                continue

    def _write(self, data: bytes, deadline: float) -> None:
        while data:
            self._wait(self._in.fileno(), select.POLLOUT, deadline)
            try:
                data = data[os.write(self._in.fileno(), data) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                raise PipeClosed from None

    def _read_line(self, deadline: float) -> bytes:
        searched = 0
        while (end := self._read.find(b"\n", searched)) < 0:
            searched = len(self._read)
            if searched > _MOST_BYTES:
                raise MessageTooLong(f"a message of more than {_MOST_BYTES} bytes")
            self._wait(self._out.fileno(), select.POLLIN, deadline)
            try:
                chunk = os.read(self._out.fileno(), _CHUNK)
            except BlockingIOError:
                continue
            if not chunk:
                raise PipeClosed
            self._read += chunk
        line = bytes(self._read[:end])
        del self._read[: end + 1]
        return line

    def _wait(self, descriptor: int, event: int, deadline: float) -> None:
        poll = select.poll()
        poll.register(descriptor, event)
        while not self._ended():
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            if poll.poll(min(left, _SLICE_SECONDS) * 1000):
                return
        raise PipeClosed
