"""JSON lines over the two pipes of a child, with a deadline per exchange."""

import json
import os
import select
import subprocess
import time
from collections.abc import Callable
from typing import Any

from coevolve_environments.json_text import load_json

# Delay until an end from another thread is noticed while a stray process holds the pipe open.
_POLL_SECONDS = 0.2
_MAX_BYTES = 64 * 2**20
_CHUNK = 2**16


class PipeClosed(Exception):
    """The child closed its end of the pipe, or was killed."""


class MessageTooLong(Exception):
    """The child wrote a message longer than the limit."""


class JsonPipe:
    """Serves one caller at a time. No operation blocks past its deadline."""

    def __init__(self, process: subprocess.Popen[bytes], is_ended: Callable[[], bool]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._in, self._out = process.stdin, process.stdout
        self._is_ended = is_ended
        self._received = bytearray()
        os.set_blocking(self._in.fileno(), False)
        os.set_blocking(self._out.fileno(), False)

    def exchange(self, message: Any, seconds: float) -> Any:
        """Sends a message and returns the reply.

        Raises:
            TimeoutError, PipeClosed, MessageTooLong: no reply; the pipe cannot be used again.
            ValueError: the reply is not JSON, or has too many values or levels.
        """
        deadline = time.monotonic() + seconds
        self._write(json.dumps(message).encode() + b"\n", deadline)
        return load_json(self._read_line(deadline))

    def close(self) -> None:
        for pipe in (self._in, self._out):
            try:
                pipe.close()
            except OSError:  # unsent bytes for a child that has exited
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
        while (end := self._received.find(b"\n", searched)) < 0:
            searched = len(self._received)
            if searched > _MAX_BYTES:
                raise MessageTooLong(f"a message has more than {_MAX_BYTES} bytes")
            self._wait(self._out.fileno(), select.POLLIN, deadline)
            try:
                chunk = os.read(self._out.fileno(), _CHUNK)
            except BlockingIOError:
                continue
            if not chunk:
                raise PipeClosed
            self._received += chunk
        line = bytes(self._received[:end])
        del self._received[: end + 1]
        return line

    def _wait(self, descriptor: int, event: int, deadline: float) -> None:
        poll = select.poll()
        poll.register(descriptor, event)
        while not self._is_ended():
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            if poll.poll(min(left, _POLL_SECONDS) * 1000):
                return
        raise PipeClosed
