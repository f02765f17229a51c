"""Data folders inside a state folder: each server locks one and reuses the data that is loaded there."""

import fcntl
import logging
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from coevolve_environments.plugins.intercode_mariadb.connection import MAX_STATEMENT_SECONDS, user_of

log = logging.getLogger(__name__)

_MAX_SLOTS = 64  # servers per state folder
_ADMINISTRATION = re.compile(r"^(?:CREATE USER|GRANT|FLUSH)\b[^\n]*$", re.MULTILINE)
_COLLATION = re.compile(r"\butf8mb4_0900_ai_ci\b")  # MySQL 8 only


@dataclass(frozen=True)
class Slot:
    folder: Path
    """Owned by mariadbd's user."""
    marker: Path
    """File with the fingerprint of the loaded data."""
    lock: IO[bytes]
    """Open while the slot is locked; processes that inherit it keep the lock."""


def take_slot(state: Path, user: int | None, temporary: Path) -> Slot:
    """Locks the first free slot. Its data is in `temporary` if `user` cannot enter `state`.

    Raises:
        OSError: all slots are locked, or the folder is not writable.
    """
    number, lock = _lock(state)
    _sweep(state / f"data-{number}.run", temporary)
    if user is not None and not _can_enter(state, user):
        log.warning("user %s cannot enter %s: the databases are loaded at every start", user, state)
        return Slot(temporary / "data", temporary / "loaded", lock)
    return Slot(state / f"data-{number}", state / f"data-{number}.loaded", lock)


def _lock(state: Path) -> tuple[int, IO[bytes]]:
    for number in range(_MAX_SLOTS):
        lock = (state / f"data-{number}.lock").open("ab")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            continue
        return number, lock
    raise OSError(f"all {_MAX_SLOTS} data folders of {state} are in use")


def _sweep(run: Path, temporary: Path) -> None:
    """Removes the temporary folder of the previous server if it was killed, and records the new one."""
    if run.is_file() and (left := Path(run.read_text())).parent == temporary.parent:
        shutil.rmtree(left, ignore_errors=True)
    run.write_text(str(temporary))


def as_user(user: int) -> dict[str, Any]:
    """Returns `subprocess` options for a user, with the group of the same id and no other group."""
    return {"user": user, "group": user, "extra_groups": []}


def _can_enter(folder: Path, user: int) -> bool:
    command = ["test", "-x", str(folder.resolve())]
    return subprocess.run(command, check=False, **as_user(user)).returncode == 0


def script(dump: str, databases: Sequence[str]) -> str:
    """Returns the statements that load an empty server, as one text.

    Table statistics are written once: query plans, and so the order of rows without ORDER BY, must not depend
    on the timing of a background thread.
    """
    loaded = _COLLATION.sub("utf8mb4_general_ci", _ADMINISTRATION.sub("", dump))
    return "\n".join([loaded, *(_reader(name) for name in databases), "FLUSH TABLES;"])


def _reader(database: str) -> str:
    """Creates a user with SELECT on one database: no FILE, no PROCESS, no temporary tables."""
    user, schema = f"'{user_of(database)}'@'localhost'", database.lower().replace("_", r"\_")
    limit = f"MAX_STATEMENT_TIME {MAX_STATEMENT_SECONDS:g}"
    return f"CREATE USER {user} WITH {limit}; GRANT SELECT ON `{schema}`.* TO {user};"
