"""A process that loads an engine once and forks: each fork serves the calls of one object.

The stem never sees a call or its arguments: it gets one end of a socket pair for each fork and passes it on.
"""

import gc
import json
import os
import resource
import signal
import socket
import traceback
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NoReturn

from coevolve_environments.processes.wall import exit_with_parent

Make = Callable[[str], object]
_MESSAGES_FD = 3  # descriptor of the messages in the stem and in each fork
_MAX_REQUEST = 4096
_DONE = b"done"


class Fork:
    """The caller's end of the messages to one fork."""

    def __init__(self, connection: socket.socket) -> None:
        self._lines: Any = connection.makefile("rw", encoding="utf8")
        connection.close()

    def call(self, method: str, **arguments: Any) -> Any:
        """
        Raises:
            EOFError: the fork has exited.
            RuntimeError: the method raised an exception.
        """
        try:
            self._lines.write(json.dumps([method, arguments]) + "\n")
            self._lines.flush()
            line = self._lines.readline()
        except OSError:
            line = ""
        if not line:
            raise EOFError
        reply = json.loads(line)
        if "error" in reply:
            raise RuntimeError(reply["error"])
        return reply["result"]

    def close(self) -> None:
        try:
            self._lines.close()
        except OSError:  # unsent text for a fork that has exited
            return


class Stem:
    """The caller's handle of the stem, which has at most one fork at a time."""

    def __init__(self, load: Callable[[], None], roles: Mapping[str, Make]) -> None:
        """
        Args:
            load: called once in the stem.
            roles: each makes an object in a fork from the argument of `fork`.
        """
        self._connection, its_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        if os.fork() == 0:
            _run(its_end, load, roles)
        its_end.close()
        self._wait()

    def fork(self, role: str, argument: str) -> Fork:
        ours, its_end = socket.socketpair()
        request = json.dumps([role, argument]).encode()
        with its_end:
            socket.send_fds(self._connection, [request], [its_end.fileno()])
        self._wait()
        return Fork(ours)

    def end_fork(self) -> None:
        """Kills the fork and returns after it has ended with all its threads."""
        self._connection.send(_DONE)
        self._wait()

    def _wait(self) -> None:
        if self._connection.recv(_MAX_REQUEST) != _DONE:
            raise RuntimeError("the engine's process has exited")


def _run(connection: socket.socket, load: Callable[[], None], roles: Mapping[str, Make]) -> NoReturn:
    """Runs in the stem, until the caller's process ends."""
    try:
        exit_with_parent()
        connection = _keep_only(connection)
        load()
        gc.freeze()  # a collection in a fork would copy every page of it
        connection.send(_DONE)
        _serve_forks(connection, roles)
    except BaseException:
        traceback.print_exc()
    os._exit(1)  # also where a fork failed: it must not go on as the stem


def _serve_forks(connection: socket.socket, roles: Mapping[str, Make]) -> None:
    child = 0
    while True:
        request, descriptors, *_ = socket.recv_fds(connection, _MAX_REQUEST, 1)
        if not request:
            return
        if request == _DONE:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        else:
            role, argument = json.loads(request)
            child = os.fork()
            if child == 0:
                _serve(socket.socket(fileno=descriptors[0]), partial(roles[role], argument))
            os.close(descriptors[0])
        connection.send(_DONE)


def _serve(connection: socket.socket, make: Callable[[], object]) -> NoReturn:
    """Serves calls in the fork. All other descriptors are closed: its code reaches no other process."""
    exit_with_parent()
    descriptor = _keep_only(connection).detach()
    lines = os.fdopen(descriptor, "r+b", buffering=0)
    write = lines.write  # the engine disables functions of the standard library while code runs
    made: object = None
    for request in iter(lines.readline, b""):
        method, arguments = json.loads(request)
        try:
            made = made or make()
            reply = {"result": getattr(made, method)(**arguments)}
        except BaseException as error:  # the caller's process raises it as a fault
            reply = {"error": f"{type(error).__name__}: {error}"}
        write(json.dumps(reply).encode() + b"\n")
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("unreachable")


def _keep_only(connection: socket.socket) -> socket.socket:
    """Moves the socket to its descriptor, and closes all others but the three standard ones."""
    os.dup2(connection.detach(), _MESSAGES_FD)
    os.closerange(_MESSAGES_FD + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    return socket.socket(fileno=_MESSAGES_FD)
