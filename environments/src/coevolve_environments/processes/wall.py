"""The wall around a child: another user, Landlock, seccomp. A child raises it before it loads its engine.

The child imports this module, so it needs only the standard library.
"""

import ctypes
import os
import platform
import signal
import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from coevolve_environments.processes.landlock import Ruleset, landlock_version
from coevolve_environments.processes.mounts import show
from coevolve_environments.processes.system_calls import Sockets, can_filter, restrict_calls

PORT_VARIABLE = "COEVOLVE_CHILD_PORT"
"""Names the one TCP port that a child with TCP may listen on and connect to."""

Passage = Literal["none", "mounts", "capability"]

_CAPABILITIES_VERSION_3 = 0x20080522
_READ_SEARCH = 2  # CAP_DAC_READ_SEARCH
_PR_SET_PDEATHSIG, _PR_SET_KEEPCAPS, _PR_SET_CHILD_SUBREAPER, _PR_CAP_AMBIENT = 1, 8, 36, 47
_AMBIENT_RAISE = 2


@dataclass(frozen=True)
class Wall:
    """What a child may reach. As JSON it is part of the first message of a child."""

    user: int | None = None
    """User and group id that the child takes; None keeps the server's user, which is not root."""
    readable: list[str] = field(default_factory=list)
    """Files and folders that alone can be read, besides the home, as far as the user may; resolved."""
    hidden: list[str] = field(default_factory=list)
    """Files and folders that cannot be read even below a readable folder, resolved."""
    passage: Passage = "none"
    """How the user reaches an interpreter or data below a folder of root: by mounts of its own, which show it
    the readable files there, or by a capability to read files of any mode."""
    sockets: Sockets = "none"


def raise_wall(wall: Wall) -> None:
    """Restricts this process, which must have one thread, as far as the kernel can, and all its descendants.

    The home (the working directory) stays writable, and nothing else is.

    Raises:
        OSError: the kernel supports a restriction and refused it.
    """
    if wall.passage == "mounts":
        show([*wall.readable, os.getcwd()])
    rules = _rules(wall) if landlock_version() else None
    if wall.user is not None:
        _become(wall.user, reads_everything=wall.passage == "capability")
    elif platform.system() == "Linux":
        _set_capabilities(0)
    exit_with_parent()  # the kernel forgets it at a change of user
    if rules:
        rules.restrict_self()
    if can_filter():
        restrict_calls(wall.sockets, owns_files=wall.user is None)


def confine_code(readable: Sequence[Path], *, hidden: Path) -> None:
    """Restricts a fork that runs a policy's code further: no processes, no sockets, no hidden files.

    Changes of modes, owners and times of files report success and do nothing.

    Args:
        hidden: a folder; of its files only the `readable` ones can be read.
    """
    rules = Ruleset()
    rules.allow_reads_except([str(hidden.resolve())])
    rules.allow_reads(readable)
    rules.allow_writes(Path.cwd())
    rules.allow_devices()
    rules.restrict_self()
    restrict_calls("none", owns_files=True, processes=False)


def exit_with_parent() -> None:
    """Makes the kernel kill this process with the thread that started it, and adopts orphans (Linux only)."""
    if platform.system() == "Linux":
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def _rules(wall: Wall) -> Ruleset:
    rules = Ruleset()
    rules.allow_reads_except(wall.hidden, below=[*wall.readable, str(Path.cwd())])
    rules.allow_writes(Path.cwd())
    rules.allow_devices()
    if wall.sockets == "tcp":
        port = _free_port()
        os.environ[PORT_VARIABLE] = str(port)
        rules.allow_port(port)
    return rules


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _become(user: int, *, reads_everything: bool) -> None:
    """Changes the user for good, without capabilities, or with the one to read files of any mode."""
    if reads_everything:
        _prctl(_PR_SET_KEEPCAPS, 1)
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    _set_capabilities(1 << _READ_SEARCH if reads_everything else 0)
    if reads_everything:  # programs that the child starts, such as a JVM, keep it too
        _prctl(_PR_CAP_AMBIENT, _AMBIENT_RAISE, _READ_SEARCH)


def _set_capabilities(kept: int) -> None:
    data = struct.pack(
        "6I", kept, kept, kept, 0, 0, 0
    )  # effective, permitted, inheritable; low and high word
    header = struct.pack("Ii", _CAPABILITIES_VERSION_3, 0)
    if ctypes.CDLL(None, use_errno=True).capset(header, data):
        raise OSError(ctypes.get_errno(), "capset")


def _prctl(option: int, *arguments: int) -> None:
    words = [ctypes.c_ulong(argument) for argument in (*arguments, 0, 0, 0, 0)[:4]]
    if ctypes.CDLL(None, use_errno=True).prctl(option, *words):
        raise OSError(ctypes.get_errno(), f"prctl {option}")
