"""Restricts a process with Linux Landlock: hides files from it and protects other processes.

A process restricts itself and all its descendants permanently. Hidden files cannot be read; all others can.
The kernel also denies a restricted process to trace a process outside its domain or to read its environment
and, since version 6 of the interface, to signal it. The child imports this module, so it needs only the
standard library. Interface: https://docs.kernel.org/userspace-api/landlock.html
"""

import ctypes
import os
import struct
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on every architecture
_VERSION = 1
_READ_FILE = 1 << 2
_SCOPE_SIGNAL = 1 << 1
_PATH_BENEATH = 1
_PR_SET_NO_NEW_PRIVS = 38


def landlock_version() -> int:
    """Returns the version of the kernel's Landlock interface; 0 without it."""
    if sys.platform != "linux":
        return 0
    version = int(_libc().syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION)))
    return max(version, 0)


def hide_from_self(hidden: Sequence[str]) -> None:
    """Restricts this process, which must have one thread. Without kernel support it does nothing.

    Args:
        hidden: files and folders, resolved. Files created later in the same folders are hidden too.

    Raises:
        OSError: the kernel supports Landlock and a call failed.
    """
    version = landlock_version()
    if version == 0:
        return
    attributes = struct.pack("QQQ", _READ_FILE, 0, _SCOPE_SIGNAL)
    size = 24 if version >= 6 else 8
    rules = _checked(_CREATE_RULESET, attributes[:size], ctypes.c_size_t(size), ctypes.c_uint32(0))
    try:
        for path in _readable(hidden):
            _allow(rules, path)
        if _libc().prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "no_new_privs")
        _checked(_RESTRICT_SELF, rules, ctypes.c_uint32(0))
    finally:
        os.close(rules)


def _readable(hidden: Sequence[str]) -> Iterator[Path]:
    """Yields the largest folders and files without hidden content: rules can allow, not deny."""
    hidden_paths = {Path(path) for path in hidden}
    outermost = {path for path in hidden_paths if hidden_paths.isdisjoint(path.parents)}
    above = {parent for path in outermost for parent in path.parents}
    if not above:
        yield Path("/")
    for folder in above:
        with suppress(PermissionError):
            for entry in folder.iterdir():
                # the target of a link has a rule of its own, or none
                if entry not in hidden_paths and entry not in above and not entry.is_symlink():
                    yield entry


def _allow(rules: int, path: Path) -> None:
    try:
        file = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:  # removed meanwhile
        return
    try:
        _checked(_ADD_RULE, rules, _PATH_BENEATH, struct.pack("=Qi", _READ_FILE, file), ctypes.c_uint32(0))
    finally:
        os.close(file)


def _checked(number: int, *arguments: object) -> int:
    result = int(_libc().syscall(number, *arguments))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"Landlock: {os.strerror(code)}")
    return result


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
