"""Denies system calls to a process with seccomp: sockets, new processes, access to other processes.

Landlock does not restrict UDP, Unix sockets with a path, or the modes of files. A process restricts itself
and all its descendants permanently. The child imports this module, so it needs only the standard library: the
libraries for such filters need libseccomp in each interpreter of a child.
Interface: https://docs.kernel.org/userspace-api/seccomp_filter.html
"""

import ctypes
import errno
import platform
import socket
import struct
from dataclasses import dataclass, field
from typing import Literal

from coevolve_environments.processes.landlock import forbid_new_privileges

Sockets = Literal["none", "tcp"]

_PR_SET_SECCOMP, _MODE_FILTER = 22, 2
_LOAD, _AND, _RETURN = 0x20, 0x54, 0x06  # instructions of the classic BPF machine
_EQUAL, _AT_LEAST, _ANY_BIT = 0x15, 0x35, 0x45
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT, _SECOND_ARGUMENT = 0, 4, 16, 24
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000
_CLONE_THREAD = 0x10000
_SOCKET_TYPE = 0xF
_X32 = 0x40000000  # numbers of a second interface on x86-64 with calls of its own


@dataclass(frozen=True)
class _Architecture:
    """Numbers of system calls. Those of calls that an architecture lacks are missing."""

    audit: int
    socket: int
    clone: int
    forks: tuple[int, ...]
    """fork and vfork."""
    tracing: tuple[int, ...]
    """ptrace, process_vm_readv, process_vm_writev."""
    unshare: int
    attributes: tuple[int, ...]
    """chmod, chown, utime, setxattr, removexattr in all forms."""
    io_uring_setup: int = field(default=425, init=False)
    clone3: int = field(default=435, init=False)
    pidfd_getfd: int = field(default=438, init=False)
    fchmodat2: int = field(default=452, init=False)


_ARCHITECTURES = {
    "x86_64": _Architecture(
        audit=0xC000003E,
        socket=41,
        clone=56,
        forks=(57, 58),
        tracing=(101, 310, 311),
        unshare=272,
        attributes=(90, 91, 92, 93, 94, 132, 188, 189, 190, 197, 198, 199, 235, 260, 261, 268, 280),
    ),
    "aarch64": _Architecture(
        audit=0xC00000B7,
        socket=198,
        clone=220,
        forks=(),
        tracing=(117, 270, 271),
        unshare=97,
        attributes=(5, 6, 7, 14, 15, 16, 52, 53, 54, 55, 88),
    ),
}


def can_filter() -> bool:
    """Returns whether this module knows the machine's system calls."""
    return platform.system() == "Linux" and platform.machine() in _ARCHITECTURES


def forbid_sockets(allowed: Sockets) -> None:
    """Denies new sockets, or those that are not TCP. Socket pairs stay allowed.

    Raises:
        OSError: the kernel refused the filter.
    """
    machine = _ARCHITECTURES[platform.machine()]
    rules = _deny(machine.io_uring_setup)  # makes sockets without the system call
    if allowed == "none":
        rules += _deny(machine.socket, error=errno.EACCES)
    else:
        rules += _on(machine.socket, _allow_tcp())
    _load(machine, rules)


def forbid_processes() -> None:
    """Denies new processes, tracing, and namespaces. Threads stay allowed.

    Changes of modes, owners and times of files report success and do nothing: libraries make them, and no
    other restriction covers those of a process that shares its user with others.

    Raises:
        OSError: the kernel refused the filter.
    """
    machine = _ARCHITECTURES[platform.machine()]
    rules = _deny(*machine.forks, *machine.tracing, machine.pidfd_getfd, machine.unshare)
    rules += _deny(
        machine.clone3, error=errno.ENOSYS
    )  # a filter cannot read its flags; clone is used instead
    rules += _on(machine.clone, _allow_threads())
    rules += _deny(*machine.attributes, machine.fchmodat2, error=0)
    _load(machine, rules)


def _allow_tcp() -> list[bytes]:
    return [
        _instruction(_LOAD, _FIRST_ARGUMENT),
        _instruction(_EQUAL, socket.AF_INET, 1, 0),
        _instruction(_EQUAL, socket.AF_INET6, 0, 3),
        _instruction(_LOAD, _SECOND_ARGUMENT),
        _instruction(_AND, _SOCKET_TYPE),
        _instruction(_EQUAL, socket.SOCK_STREAM, 1, 0),
        _instruction(_RETURN, _FAIL | errno.EACCES),
        _instruction(_RETURN, _ALLOW),
    ]


def _allow_threads() -> list[bytes]:
    return [
        _instruction(_LOAD, _FIRST_ARGUMENT),
        _instruction(_ANY_BIT, _CLONE_THREAD, 1, 0),
        _instruction(_RETURN, _FAIL | errno.EPERM),
        _instruction(_RETURN, _ALLOW),
    ]


def _deny(*numbers: int, error: int = errno.EPERM) -> list[bytes]:
    return [rule for number in numbers for rule in _on(number, [_instruction(_RETURN, _FAIL | error)])]


def _on(number: int, rules: list[bytes]) -> list[bytes]:
    """Runs rules that end with a return for one system call; the number is loaded before and after."""
    return [_instruction(_EQUAL, number, 0, len(rules)), *rules]


def _load(machine: _Architecture, rules: list[bytes]) -> None:
    program = [
        _instruction(_LOAD, _ARCHITECTURE),
        _instruction(_EQUAL, machine.audit, 1, 0),
        _instruction(_RETURN, _FAIL | errno.EPERM),
        _instruction(_LOAD, _NUMBER),
        _instruction(_AT_LEAST, _X32, 0, 1),
        _instruction(_RETURN, _FAIL | errno.ENOSYS),
        *rules,
        _instruction(_RETURN, _ALLOW),
    ]
    instructions = ctypes.create_string_buffer(b"".join(program))
    header = struct.pack("HxxxxxxP", len(program), ctypes.addressof(instructions))
    forbid_new_privileges()
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_SECCOMP, _MODE_FILTER, header, 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    """Jumps skip `if_true` or `if_false` instructions."""
    return struct.pack("HBBI", code, if_true, if_false, value)
