"""Reserves user ids for children: at any moment, no two children of the machine have the same one.

`kill_processes` kills all processes of a child's user, and the kernel counts processes by user. Two servers
that drew ids by themselves killed each other's children. An id is one locked byte of a file; the kernel frees
it with the last process that holds the file open, so a killed server leaves none behind.
"""

import fcntl
import os
import pwd
import struct
import threading
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from coevolve_environments.processes.reaper import REAPER

USERS = range(60_706, 61_184)
"""User ids that no distribution assigns (systemd's table of ids); each child of a server of root gets one."""


class UserIds:
    """The ids of this process. The one that was free for longest comes first."""

    def __init__(self, users: Iterable[int] = USERS, folder: Path | None = None) -> None:
        """
        Args:
            folder: holds the file with the locks; default: /run, or /tmp where /run cannot be written.
        """
        self._free = deque(users)
        self._path = (folder or Path("/run" if os.access("/run", os.W_OK) else "/tmp")) / "coevolve-user-ids"
        self._lock = threading.Lock()
        self._file: int | None = None

    def reserve(self) -> int:
        """
        Raises:
            OSError: all ids are taken, or the file cannot be opened.
        """
        with self._lock:
            if self._file is None:
                self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
                REAPER.hold_open(self._file)
            for _ in range(len(self._free)):
                user = self._free.popleft()
                if not _is_known(user) and self._lock_byte(user, fcntl.F_WRLCK):
                    return user
                self._free.append(user)
        raise OSError("all user ids of environments are taken by other children of this machine")

    def release(self, user: int) -> None:
        """Call it after the last process of the user has ended."""
        with self._lock:
            self._lock_byte(user, fcntl.F_UNLCK)
            self._free.append(user)

    def _lock_byte(self, user: int, kind: int) -> bool:
        """Returns whether the lock changed: another server may hold it."""
        assert self._file is not None
        # struct flock: type, whence, start, length, pid. A process that inherits the open file has its locks.
        with suppress(BlockingIOError):
            fcntl.fcntl(self._file, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", kind, os.SEEK_SET, user, 1, 0))
            return True
        return False


USER_IDS = UserIds()


def _is_known(user: int) -> bool:
    try:
        pwd.getpwuid(user)
    except KeyError:
        return False
    return True
