"""The filters of system calls on both architectures; test_wall.py attacks that of this machine."""

import errno
import platform
import struct

import pytest

from coevolve_environments.processes import system_calls
from coevolve_environments.processes.call_numbers import numbers_of
from coevolve_environments.processes.seccomp import Rules

_LOAD, _AND, _RETURN = 0x20, 0x54, 0x06
_ALLOWED = 0x7FFF0000
_MAX_INSTRUCTIONS = 4096


def outcome(rules: Rules, name: str, *arguments: int) -> int | None:
    """Runs the instructions as the kernel does; returns the error (0: no call, success), None for a call."""
    number = numbers_of(name)[0]
    words = [number, 0, 0, 0, *(half for each in arguments for half in (each & 0xFFFFFFFF, each >> 32))]
    words += [0] * (16 - len(words))
    accumulator, position = number, 0
    while position < len(rules):
        code, if_true, if_false, value = struct.unpack("HBBI", rules[position])
        position += 1
        if code == _LOAD:
            accumulator = words[value // 4]
        elif code == _AND:
            accumulator &= value
        elif code == _RETURN:
            return None if value == _ALLOWED else value & 0xFFFF
        else:
            tests = {
                0x15: accumulator == value,
                0x25: accumulator > value,
                0x35: accumulator >= value,
                0x45: accumulator & value,
            }
            position += if_true if tests[code] else if_false
    return errno.ENOSYS


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_each_architecture_allows_and_denies_the_same(machine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[Rules] = []
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr(system_calls, "load_filter", loaded.append)
    system_calls.restrict_calls("none", owns_files=True)
    system_calls.restrict_calls("tcp", owns_files=False)
    system_calls.restrict_calls("none", owns_files=True, processes=False)
    plain, tcp, code = loaded
    assert max(map(len, loaded)) < _MAX_INSTRUCTIONS - 7
    assert [outcome(plain, name) for name in ("read", "openat", "execve", "clone")] == [None] * 4
    assert outcome(plain, "fchmodat") == outcome(plain, "utimensat") == 0
    assert outcome(tcp, "fchmodat") is None
    assert outcome(plain, "clone3") == errno.ENOSYS
    assert outcome(plain, "socket", 2, 1, 0) == errno.EACCES
    assert outcome(tcp, "socket", 2, 1 | 0x80000, 6) is None
    assert [outcome(tcp, "socket", *each) for each in ((1, 1, 0), (2, 2, 0), (2, 1, 262))] == [
        errno.EACCES
    ] * 3
    assert [outcome(plain, "socketpair", 1, kind) for kind in (1, 5, 2)] == [None, None, errno.EACCES]
    assert [outcome(plain, "sendto", 3, 0, 0, 0, at) for at in (0, 1, 1 << 40)] == [None, 13, 13]
    assert [outcome(plain, "mmap", 0, 0, 0, flags) for flags in (0x22, 0x1, 0x21)] == [
        None,
        None,
        errno.EPERM,
    ]
    assert [outcome(plain, "ioctl", 0, request) for request in (0x5401, 0x40086602)] == [None, errno.ENOTTY]
    assert outcome(code, "execve") == errno.ENOSYS
    assert [outcome(code, "clone", flags) for flags in (17, 0x10000)] == [errno.EPERM, None]
    assert [outcome(tcp, "setsockopt", 0, 6, option) for option in (1, 31)] == [None, errno.ENOPROTOOPT]
