"""Resident memory of a process and its descendants."""

import time

import psutil

_REFRESH_SECONDS = 1.0  # listing the descendants reads all of /proc; their memory alone is three short reads


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

    def pids(self) -> list[int]:
        """Returns the processes of the last measurement."""
        return [process.pid for process in self._tree]

    def descendants(self) -> list[psutil.Process]:
        try:
            return list(self._root.children(recursive=True))
        except psutil.NoSuchProcess:
            return []


def _resident_bytes(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return 0
