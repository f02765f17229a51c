"""Data folders of a state folder: one server holds one, and finds what an earlier one loaded into it."""

import fcntl
import logging
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

log = logging.getLogger(__name__)

_MOST = 64  # servers over one state folder


@dataclass(frozen=True)
class Slot:
    folder: Path
    """Of mariadbd's user."""
    marker: Path
    """Says what was loaded into the folder, once it was."""
    lock: IO[bytes]
    """Open while the slot is taken; whoever inherits it keeps the slot."""


def take_slot(state: Path, user: int | None, temporary: Path) -> Slot:
    """The first slot that nobody holds; its data is in `temporary` where `user` cannot enter `state`.

    Raises:
        OSError: all are taken, or the folder cannot be written.
    """
    number, lock = _lock(state)
    _sweep(state / f"data-{number}.run", temporary)
    if user is not None and not _can_enter(state, user):
        log.warning("user %s cannot enter %s: the databases are loaded anew at every start", user, state)
        return Slot(temporary / "data", temporary / "loaded", lock)
    return Slot(state / f"data-{number}", state / f"data-{number}.loaded", lock)


def _lock(state: Path) -> tuple[int, IO[bytes]]:
    for number in range(_MOST):
        lock = (state / f"data-{number}.lock").open("ab")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            continue
        return number, lock
    raise OSError(f"{_MOST} servers hold the data folders of {state}")


def _sweep(run: Path, temporary: Path) -> None:
    """Removes what the slot's last holder left behind if it was killed, and notes whose turn it is."""
    if run.is_file() and (left := Path(run.read_text())).parent == temporary.parent:
        shutil.rmtree(left, ignore_errors=True)
    run.write_text(str(temporary))


def as_user(user: int) -> dict[str, Any]:
    """How `subprocess` starts a process as that user, in a group of the same number and in no other."""
    return {"user": user, "group": user, "extra_groups": []}


def _can_enter(folder: Path, user: int) -> bool:
    command = ["test", "-x", str(folder.resolve())]
    return subprocess.run(command, check=False, **as_user(user)).returncode == 0
