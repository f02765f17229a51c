"""Assembles filters of system calls for seccomp and installs them.

The child imports this module, so it needs only the standard library.
Interface: https://docs.kernel.org/userspace-api/seccomp_filter.html
"""

import ctypes
import errno
import platform
import struct
from collections.abc import Iterable, Iterator

from coevolve_environments.processes.landlock import forbid_new_privileges

Rules = list[bytes]
"""Instructions of the classic BPF machine."""

_PR_SET_SECCOMP, _MODE_FILTER = 22, 2
_LOAD, _AND, _RETURN = 0x20, 0x54, 0x06
_EQUAL, _ABOVE, _AT_LEAST, _ANY_BIT = 0x15, 0x25, 0x35, 0x45
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets; each argument has 8 bytes, the lower 4 first
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000
_X32 = 0x40000000  # numbers of a second interface on x86-64 with other calls
_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}


def load_filter(rules: Rules) -> None:
    """Restricts this process to the calls that the rules allow, and all its descendants, permanently.

    Every other call fails as one that the kernel does not have, because libraries then use an older one.

    Raises:
        OSError: the kernel refused the filter.
    """
    program = [
        _instruction(_LOAD, _ARCHITECTURE),
        _instruction(_EQUAL, _AUDIT[platform.machine()], 1, 0),
        fail(errno.EPERM),
        _instruction(_LOAD, _NUMBER),
        _instruction(_AT_LEAST, _X32, 0, 1),
        fail(errno.ENOSYS),
        *rules,
        fail(errno.ENOSYS),
    ]
    instructions = ctypes.create_string_buffer(b"".join(program))
    header = struct.pack("HxxxxxxP", len(program), ctypes.addressof(instructions))
    forbid_new_privileges()
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_SECCOMP, _MODE_FILTER, header, 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")


def allow_calls(numbers: Iterable[int]) -> Rules:
    """Allows calls with any arguments. The kernel remembers the answer for each number (since Linux 5.11)."""
    rules = []
    for first, last in _runs(sorted(numbers)):
        rules += [_instruction(_AT_LEAST, first, 0, 2), _instruction(_ABOVE, last, 1, 0), succeed()]
    return rules


def on_calls(numbers: Iterable[int], rules: Rules) -> Rules:
    """Runs rules that end with a return for some calls."""
    return [rule for number in numbers for rule in (_instruction(_EQUAL, number, 0, len(rules)), *rules)]


def allow_values(argument: int, values: Iterable[int], error: int, mask: int = 0xFFFFFFFF) -> Rules:
    """Allows values of the lower 32 bits of an argument (0 is the first), after a mask."""
    passes = [rule for value in values for rule in (_instruction(_EQUAL, value, 0, 1), succeed())]
    return [*_load_argument(argument), _instruction(_AND, mask), *passes, fail(error)]


def deny_values(argument: int, values: Iterable[int], error: int, mask: int) -> Rules:
    """Denies values of the lower 32 bits of an argument after a mask, and allows all others."""
    fails = [rule for value in values for rule in (_instruction(_EQUAL, value, 0, 1), fail(error))]
    return [*_load_argument(argument), _instruction(_AND, mask), *fails, succeed()]


def require_bits(argument: int, bits: int, error: int) -> Rules:
    return [*_load_argument(argument), _instruction(_ANY_BIT, bits, 1, 0), fail(error), succeed()]


def deny_bits(argument: int, bits: int, error: int) -> Rules:
    return [*_load_argument(argument), _instruction(_ANY_BIT, bits, 0, 1), fail(error), succeed()]


def require_null(argument: int, error: int) -> Rules:
    """Allows a pointer of 64 bits only if it is null."""
    low, high = _ARGUMENTS + 8 * argument, _ARGUMENTS + 8 * argument + 4
    return [
        _instruction(_LOAD, low),
        _instruction(_EQUAL, 0, 1, 0),
        fail(error),
        _instruction(_LOAD, high),
        _instruction(_EQUAL, 0, 1, 0),
        fail(error),
        succeed(),
    ]


def require_value(argument: int, values: Iterable[int], error: int, mask: int = 0xFFFFFFFF) -> Rules:
    """Fails unless the masked argument has one of the values; otherwise the next rule decides."""
    checks = list(values)
    equal = [_instruction(_EQUAL, value, len(checks) - index, 0) for index, value in enumerate(checks)]
    return [*_load_argument(argument), _instruction(_AND, mask), *equal, fail(error)]


def when_value(argument: int, value: int, rules: Rules) -> Rules:
    """Runs rules that end with a return if the argument has the value; otherwise the next rule decides."""
    return [*_load_argument(argument), _instruction(_EQUAL, value, 0, len(rules)), *rules]


def succeed() -> bytes:
    return _instruction(_RETURN, _ALLOW)


def fail(error: int) -> bytes:
    """Returns an error without the call; 0 reports success and does nothing."""
    return _instruction(_RETURN, _FAIL | error)


def _load_argument(argument: int) -> Rules:
    return [_instruction(_LOAD, _ARGUMENTS + 8 * argument)]


def _runs(numbers: list[int]) -> Iterator[tuple[int, int]]:
    """Yields the first and the last of consecutive numbers."""
    first = last = numbers[0]
    for number in numbers[1:]:
        if number > last + 1:
            yield first, last
            first = number
        last = number
    yield first, last


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    """Jumps skip `if_true` or `if_false` instructions."""
    return struct.pack("HBBI", code, if_true, if_false, value)
