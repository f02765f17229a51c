"""Resident memory of a process tree, and the disk space that it uses below its home."""

import math
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil

_REFRESH_SECONDS = 1.0  # a list of the descendants reads all of /proc; their memory is three short reads
_MAX_SHARE = 0.05  # of the time; a home of 100,000 files takes 0.5 s
_SECTOR = 512
_MIN_BYTES = 4096  # of an entry, so that empty files count too


class DiskUsage:
    """Measures one home, at most once per second. Files that are deleted but still open count too."""

    def __init__(self, home: Path, limit_bytes: int) -> None:
        self._home = home
        self._limit = limit_bytes
        self._bytes = 0.0
        self._next_at = 0.0

    def measure(self, pids: Iterable[int]) -> float:
        """Returns bytes: infinity if a part cannot be read, some number above the limit past it.

        Args:
            pids: processes that may hold deleted files.
        """
        started_at = time.monotonic()
        if started_at >= self._next_at:
            self._bytes = self._sum(pids)
            ended_at = time.monotonic()
            self._next_at = ended_at + max(_REFRESH_SECONDS, (ended_at - started_at) / _MAX_SHARE)
        return self._bytes

    def _sum(self, pids: Iterable[int]) -> float:
        total = 0
        counted: set[tuple[int, int]] = set()
        try:
            for found in self._files(pids):
                key = (found.st_dev, found.st_ino)
                if key in counted:
                    continue  # another link, or another descriptor
                counted.add(key)
                total += max(_MIN_BYTES, found.st_blocks * _SECTOR)
                if total > self._limit:
                    break
        except OSError:  # a folder without permissions, or a path that is too long
            return math.inf
        return total

    def _files(self, pids: Iterable[int]) -> Iterator[os.stat_result]:
        device = self._home.stat().st_dev if self._home.exists() else None
        folders = [str(self._home)]
        while folders:
            with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folders.pop()) as entries:
                for entry in entries:
                    with suppress(FileNotFoundError):
                        yield entry.stat(follow_symlinks=False)
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
        for pid in pids:
            for found in _deleted_files(pid):
                if found.st_dev == device:
                    yield found


def _deleted_files(pid: int) -> Iterator[os.stat_result]:
    with suppress(OSError), os.scandir(f"/proc/{pid}/fd") as descriptors:
        for descriptor in descriptors:
            with suppress(OSError):
                found = os.stat(descriptor.path)
                if found.st_nlink == 0:
                    yield found


class ResidentMemory:
    """Measures one process tree. The list of descendants is at most a second old."""

    def __init__(self, pid: int) -> None:
        self._root = psutil.Process(pid)
        self._tree: list[psutil.Process] = [self._root]
        self._refreshed_at = 0.0

    def measure(self) -> int:
        """Returns bytes; shared pages count for each process. 0 after the process has exited."""
        if time.monotonic() - self._refreshed_at > _REFRESH_SECONDS:
            self._tree = [self._root, *self.descendants()]
            self._refreshed_at = time.monotonic()
        return sum(_resident_bytes(process) for process in self._tree)

    def threads(self) -> int:
        """Returns the number of threads of the processes of the last measurement."""
        return sum(_thread_count(process) for process in self._tree)

    def pids(self) -> list[int]:
        """Returns the processes of the last measurement."""
        return [process.pid for process in self._tree]

    def descendants(self) -> list[psutil.Process]:
        try:
            return list(self._root.children(recursive=True))
        except psutil.NoSuchProcess:
            return []


def _thread_count(process: psutil.Process) -> int:
    try:
        return int(process.num_threads())
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return 0


def _resident_bytes(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return 0
