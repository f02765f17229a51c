"""Limits the processes of a child that shares its user with other programs.

The child imports this module, so it needs only the standard library.
"""

import os
import platform
import resource
from pathlib import Path

_FIRST_GUESS = 64
_PRECISION = 64


def leave_half() -> None:
    """Takes at most half of the processes and threads that the user may still start, for good.

    The kernel counts those of a user together, in all containers, so no list of processes has the number. It
    is found with trials: a process cannot start another one at a limit that its user has reached.
    """
    if platform.system() != "Linux" or os.geteuid() == 0:
        return
    hard = _hard_limit()
    running = _running(hard)
    limit = running + (hard - running) // 2
    resource.setrlimit(resource.RLIMIT_NPROC, (limit, limit))


def _hard_limit() -> int:
    hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    if hard != resource.RLIM_INFINITY:
        return hard
    return int(Path("/proc/sys/kernel/threads-max").read_text())


def _running(hard: int) -> int:
    """Returns the number of the user's processes and threads, up to `_PRECISION` too high."""
    below, enough = 0, min(_FIRST_GUESS, hard)
    while enough < hard and not _can_start(enough, hard):
        below, enough = enough, min(2 * enough, hard)
    while enough - below > _PRECISION:
        middle = (below + enough) // 2
        if _can_start(middle, hard):
            enough = middle
        else:
            below = middle
    return enough


def _can_start(limit: int, hard: int) -> bool:
    resource.setrlimit(resource.RLIMIT_NPROC, (limit, hard))
    try:
        pid = os.fork()
    except BlockingIOError:
        return False
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return True
