"""Denies system calls to a process with seccomp: sockets, new processes, access to other processes.

Landlock does not restrict UDP, MPTCP, TCP Fast Open, Unix sockets with a path, modes of files, limits and
priorities of processes, keyrings, or System V memory. A process restricts itself
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
_NUMBER, _ARCHITECTURE = 0, 4  # offsets; each argument has 8 bytes, of which the lower 4 are loaded
_FIRST_ARGUMENT, _SECOND_ARGUMENT, _THIRD_ARGUMENT, _FOURTH_ARGUMENT = 16, 24, 32, 40
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000
_CLONE_THREAD = 0x10000
_CLONE_NAMESPACES = 0x7E020000
_FAST_OPEN = 0x20000000  # MSG_FASTOPEN: a send that connects, which Landlock does not check
_SOCKET_TYPE = 0xF
_X32 = 0x40000000  # numbers of a second interface on x86-64 with other calls


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
    namespaces: tuple[int, ...]
    """unshare, setns."""
    kernel: tuple[int, ...]
    """bpf, perf_event_open, userfaultfd: large interfaces of the kernel that no engine needs."""
    keys: tuple[int, ...]
    """add_key, request_key, keyctl: a child inherits its operator's keyrings."""
    shared_memory: tuple[int, ...]
    """Those of System V for memory, semaphores and messages, which processes of one user share."""
    scheduling: tuple[int, ...]
    """setpriority, ioprio_set, sched_setparam, sched_setscheduler, sched_setaffinity, sched_setattr."""
    prlimit: int
    send: int
    """sendto."""
    send_messages: tuple[int, int]
    """sendmsg, sendmmsg."""
    attributes: tuple[int, ...]
    """chmod, chown, setxattr, removexattr in all forms."""
    times: tuple[int, ...]
    """utime in all forms."""
    io_uring_setup: int = field(default=425, init=False)
    clone3: int = field(default=435, init=False)
    pidfd_getfd: int = field(default=438, init=False)
    newest_attributes: tuple[int, ...] = field(default=(452, 463, 466, 469), init=False)
    """fchmodat2, setxattrat, removexattrat, file_setattr."""


_ARCHITECTURES = {
    "x86_64": _Architecture(
        audit=0xC000003E,
        socket=41,
        clone=56,
        forks=(57, 58),
        tracing=(101, 310, 311),
        namespaces=(272, 308),
        kernel=(298, 321, 323),
        keys=(248, 249, 250),
        shared_memory=(29, 30, 31, 64, 65, 66, 68, 69, 70, 71, 220),
        scheduling=(141, 142, 144, 203, 251, 314),
        prlimit=302,
        send=44,
        send_messages=(46, 307),
        attributes=(90, 91, 92, 93, 94, 188, 189, 190, 197, 198, 199, 260, 268),
        times=(132, 235, 261, 280),
    ),
    "aarch64": _Architecture(
        audit=0xC00000B7,
        socket=198,
        clone=220,
        forks=(),
        tracing=(117, 270, 271),
        namespaces=(97, 268),
        kernel=(241, 280, 282),
        keys=(217, 218, 219),
        shared_memory=(186, 187, 188, 189, 190, 191, 192, 193, 194, 195, 196),
        scheduling=(30, 118, 119, 122, 140, 274),
        prlimit=261,
        send=206,
        send_messages=(211, 269),
        attributes=(5, 6, 7, 14, 15, 16, 52, 53, 54, 55),
        times=(88,),
    ),
}


def can_filter() -> bool:
    """Returns whether this module knows the machine's system calls."""
    return platform.system() == "Linux" and platform.machine() in _ARCHITECTURES


def forbid_sharing(allowed: Sockets, *, owns_files: bool) -> None:
    """Denies new sockets, or those that are not TCP, and what processes of one user share. Socket pairs stay.

    Args:
        owns_files: the process's user owns files outside its home: changes of modes, owners and extended
            attributes of files report success and do nothing, because libraries make them.

    Raises:
        OSError: the kernel refused the filter.
    """
    machine = _ARCHITECTURES[platform.machine()]
    rules = _deny(machine.io_uring_setup)  # makes sockets without the system call
    if allowed == "none":
        rules += _deny(machine.socket, error=errno.EACCES)
    else:
        rules += _on(machine.socket, _allow_tcp())
        rules += _on(machine.send, _deny_bits(_FOURTH_ARGUMENT, _FAST_OPEN))
        rules += _on(machine.send_messages[0], _deny_bits(_THIRD_ARGUMENT, _FAST_OPEN))
        rules += _on(machine.send_messages[1], _deny_bits(_FOURTH_ARGUMENT, _FAST_OPEN))
    rules += _deny(*machine.namespaces, *machine.kernel, *machine.keys, *machine.shared_memory)
    rules += _deny(*machine.scheduling)
    rules += _on(machine.prlimit, _deny_bits(_FIRST_ARGUMENT, 0xFFFFFFFF))  # 0 is the process itself
    rules += _without_clone3(machine)
    rules += _on(machine.clone, _deny_bits(_FIRST_ARGUMENT, _CLONE_NAMESPACES))
    if owns_files:
        rules += _deny(*machine.attributes, *machine.newest_attributes, error=0)
    _load(machine, rules)


def forbid_processes() -> None:
    """Denies new processes and tracing. Threads stay allowed. Changes of files' times do nothing.

    Raises:
        OSError: the kernel refused the filter.
    """
    machine = _ARCHITECTURES[platform.machine()]
    rules = _deny(*machine.forks, *machine.tracing, machine.pidfd_getfd)
    rules += _without_clone3(machine)
    rules += _on(machine.clone, _allow_threads())
    rules += _deny(*machine.times, error=0)
    _load(machine, rules)


def _without_clone3(machine: _Architecture) -> list[bytes]:
    """A filter cannot read the flags of clone3; libraries then use clone."""
    return _deny(machine.clone3, error=errno.ENOSYS)


def _allow_tcp() -> list[bytes]:
    return [
        _instruction(_LOAD, _FIRST_ARGUMENT),
        _instruction(_EQUAL, socket.AF_INET, 1, 0),
        _instruction(_EQUAL, socket.AF_INET6, 0, 6),
        _instruction(_LOAD, _SECOND_ARGUMENT),
        _instruction(_AND, _SOCKET_TYPE),
        _instruction(_EQUAL, socket.SOCK_STREAM, 0, 3),
        _instruction(_LOAD, _THIRD_ARGUMENT),  # Landlock restricts neither MPTCP nor SCTP
        _instruction(_EQUAL, 0, 2, 0),
        _instruction(_EQUAL, socket.IPPROTO_TCP, 1, 0),
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


def _deny_bits(argument: int, bits: int) -> list[bytes]:
    return [
        _instruction(_LOAD, argument),
        _instruction(_ANY_BIT, bits, 0, 1),
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
