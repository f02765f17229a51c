"""Resident memory of a process and everything that it started."""

import time

import psutil

_RELIST_SECONDS = 1.0  # listing the descendants reads all of /proc; their memory alone is three short reads


class ResidentMemory:
    """Measures one process. The list of its descendants is at most a second old."""

    def __init__(self, pid: int) -> None:
        self._root = psutil.Process(pid)
        self._family: list[psutil.Process] = [self._root]
        self._listed_at = 0.0

    def measure(self) -> int:
        """Bytes, pages shared within the family counted for each; 0 when the process is gone."""
        if time.monotonic() - self._listed_at > _RELIST_SECONDS:
            self._family = [self._root, *self.descendants()]
            self._listed_at = time.monotonic()
        return sum(_resident(process) for process in self._family)

    def descendants(self) -> list[psutil.Process]:
        try:
            return list(self._root.children(recursive=True))
        except psutil.NoSuchProcess:
            return []


def _resident(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return 0
