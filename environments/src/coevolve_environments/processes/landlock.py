"""Restricts a process with Linux Landlock: the files it reads and writes, its TCP ports, other processes.

A process restricts itself and all its descendants permanently, and may do so again, which can only take more
away. The kernel denies a restricted process to trace a process outside its domain or to read its environment.
The child imports this module, so it needs only the standard library.
Interface: https://docs.kernel.org/userspace-api/landlock.html
"""

import ctypes
import os
import stat
import struct
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on every architecture
_VERSION = 1
_PATH_BENEATH, _NET_PORT = 1, 2
_PR_SET_NO_NEW_PRIVS = 38

_READ_FILE = 1 << 2
_WRITE_FILE = 1 << 1
_CHANGE_FOLDER = sum(1 << bit for bit in range(4, 13))  # remove and make files of all kinds
_REFER, _TRUNCATE, _IOCTL_DEVICE = 1 << 13, 1 << 14, 1 << 15
_OF_FILES = _READ_FILE | _WRITE_FILE | _TRUNCATE | _IOCTL_DEVICE  # the other rights exist for folders only
_BIND_TCP, _CONNECT_TCP = 1 << 0, 1 << 1
_SCOPE_ABSTRACT_SOCKET, _SCOPE_SIGNAL = 1 << 0, 1 << 1

NETWORK_VERSION = 4
"""First version that restricts TCP."""
SIGNAL_VERSION = 6
"""First version that restricts signals and abstract Unix sockets; kernel 6.12."""

_DEVICES = "/dev"
_WRITABLE_DEVICES = ("/dev/null", "/dev/full")
_READABLE_DEVICES = (*_WRITABLE_DEVICES, "/dev/zero", "/dev/random", "/dev/urandom")
"""A shared mapping of a writable /dev/zero is memory that counts for no process once it is unmapped."""


def landlock_version() -> int:
    """Returns the version of the kernel's Landlock interface; 0 without it."""
    if sys.platform != "linux":
        return 0
    version = int(_libc().syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION)))
    return max(version, 0)


class Ruleset:
    """The rights of a process after `restrict_self`. The `allow` methods add them; there are no others.

    Rights that the kernel's version does not know are not restricted.
    """

    def __init__(self) -> None:
        """
        Raises:
            OSError: the kernel has no Landlock.
        """
        version = landlock_version()
        writes = _WRITE_FILE | _CHANGE_FOLDER
        for since, right in ((2, _REFER), (3, _TRUNCATE), (5, _IOCTL_DEVICE)):
            writes |= right if version >= since else 0
        self._writes = writes
        self._tcp = _BIND_TCP | _CONNECT_TCP if version >= NETWORK_VERSION else 0
        scopes = _SCOPE_ABSTRACT_SOCKET | _SCOPE_SIGNAL
        attributes = struct.pack("QQQ", _READ_FILE | writes, self._tcp, scopes)
        size = 24 if version >= SIGNAL_VERSION else 16 if self._tcp else 8
        self._descriptor = _checked(
            _CREATE_RULESET, attributes[:size], ctypes.c_size_t(size), ctypes.c_uint32(0)
        )

    def allow_reads(self, paths: Sequence[str | Path]) -> None:
        """Allows files, and all files below folders. Paths that do not exist are skipped."""
        for path in paths:
            self._allow(path, _READ_FILE)

    def allow_reads_except(self, hidden: Sequence[str], *, below: Sequence[str] = ("/",)) -> None:
        """Allows files but the hidden ones and devices, and but files that are created later beside them.

        A user's processes share its terminals: a child could read the keys that are pressed there.

        Args:
            hidden: files and folders, resolved.
            below: files and folders, resolved, of which all other content is allowed.
        """
        for path in below:
            self.allow_reads(list(_without([*hidden, _DEVICES], Path(path))))

    def allow_writes(self, folder: str | Path) -> None:
        """Allows every change below a folder."""
        self._allow(folder, self._writes)

    def allow_devices(self) -> None:
        self.allow_reads(_READABLE_DEVICES)
        for device in _WRITABLE_DEVICES:
            self._allow(device, self._writes)

    def allow_port(self, port: int) -> None:
        """Allows to listen on a TCP port and to connect to it, on any address."""
        if self._tcp:
            rule = struct.pack("=QQ", self._tcp, port)
            _checked(_ADD_RULE, self._descriptor, _NET_PORT, rule, ctypes.c_uint32(0))

    def restrict_self(self) -> None:
        """Restricts this process, which must have one thread; the ruleset cannot be used afterwards.

        Raises:
            OSError: a call failed.
        """
        try:
            forbid_new_privileges()
            _checked(_RESTRICT_SELF, self._descriptor, ctypes.c_uint32(0))
        finally:
            os.close(self._descriptor)

    def _allow(self, path: str | Path, rights: int) -> None:
        try:
            file = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:  # missing, or removed meanwhile
            return
        try:
            if not stat.S_ISDIR(os.fstat(file).st_mode):
                rights &= _OF_FILES
            rule = struct.pack("=Qi", rights, file)
            _checked(_ADD_RULE, self._descriptor, _PATH_BENEATH, rule, ctypes.c_uint32(0))
        finally:
            os.close(file)


def forbid_new_privileges() -> None:
    """Makes setuid programs run without their owner's rights; Landlock and seccomp require it."""
    if _libc().prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "no_new_privs")


def _without(hidden: Sequence[str], top: Path) -> Iterator[Path]:
    """Yields the largest files and folders of `top` without hidden content: rules can allow, not deny."""
    hidden_paths = {Path(path) for path in hidden}
    if hidden_paths & {top, *top.parents}:
        return
    outermost = {
        path for path in hidden_paths if top in path.parents and hidden_paths.isdisjoint(path.parents)
    }
    above = {parent for path in outermost for parent in path.parents if parent.is_relative_to(top)}
    if not above:
        yield top
    for folder in above:
        with suppress(PermissionError):
            for entry in folder.iterdir():
                # the target of a link has another rule, or none
                if entry not in hidden_paths and entry not in above and not entry.is_symlink():
                    yield entry


def _checked(number: int, *arguments: object) -> int:
    result = int(_libc().syscall(number, *arguments))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"Landlock: {os.strerror(code)}")
    return result


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
