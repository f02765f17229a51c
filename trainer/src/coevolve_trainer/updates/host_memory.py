"""Whether the processes of a job have the host memory for a copy of their state."""

from __future__ import annotations

import resource
import socket
from pathlib import Path
from typing import NamedTuple

import psutil

CONTAINER = Path("/sys/fs/cgroup")  # of a container, its own control group


class MemoryNeed(NamedTuple):
    """Bytes of one process."""

    host: str
    needed: int
    free: int


def memory_need(copied_bytes: int) -> MemoryNeed:
    """Returns what this process needs for a copy, and for growing again to the largest size it had.

    At a checkpoint no gradients and activations exist, but the next update needs theirs beside the copy.
    """
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    growth = max(0, peak - psutil.Process().memory_info().rss)
    needed = copied_bytes + growth if copied_bytes else 0
    return MemoryNeed(socket.gethostname(), needed, free_memory())


def find_shortage(needs: list[MemoryNeed]) -> str | None:
    """Returns the shortage of a host whose processes need more than is free; None if there is none."""
    for host in sorted({need.host for need in needs}):
        needed = sum(need.needed for need in needs if need.host == host)
        free = min(need.free for need in needs if need.host == host)
        if needed > free:
            return f"{host}: a copy needs {needed:,} bytes of memory, {free:,} are free"
    return None


def free_memory(container: Path = CONTAINER) -> int:
    """Returns the bytes that a process can still allocate, in a container within its limit."""
    free = int(psutil.virtual_memory().available)
    try:
        limit = int((container / "memory.max").read_text())  # without a limit "max", which is no number
        used = int((container / "memory.current").read_text())
        lines = (container / "memory.stat").read_text().splitlines()
    except (OSError, ValueError):
        return free
    # Clean pages of the file cache are freed on demand
    cached = sum(int(line.split()[1]) for line in lines if line.startswith("inactive_file "))
    return max(0, min(free, limit - used + cached))
