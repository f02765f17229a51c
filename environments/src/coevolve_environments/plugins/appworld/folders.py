"""Folders of one fork: AppWorld's layout with links to the data, and the wall around it."""

import os
import resource
import tempfile
from dataclasses import dataclass
from pathlib import Path

from coevolve_environments.processes.wall import confine_code

_LINKED = ("api_docs", "base_dbs")
_TASK_PARTS = ("specs.json", "dbs")
"""Files and folders of a task that the engine reads; the others are gold."""
EXPERIMENT = "coevolve"
_ROOT = "appworld"
_MEGABYTE = 2**20


def link_data(root: Path, data: Path) -> None:
    """Makes AppWorld's root folder in a new folder, and sets the variables by which the package finds it."""
    (root / "data" / "tasks").mkdir(parents=True)
    for name in _LINKED:
        (root / "data" / name).symlink_to(data / name)
    os.environ["APPWORLD_ROOT"] = str(root)
    os.environ["APPWORLD_CACHE"] = str(root / "cache")


def state_folders(task: str) -> tuple[str, ...]:
    """Returns the folders, one in the other, in which the engine saves a world's databases."""
    return (_ROOT, "experiments", "outputs", EXPERIMENT, "tasks", task, "dbs")


@dataclass(frozen=True)
class Data:
    folder: Path
    """Contains `api_docs`, `base_dbs` and `tasks`."""
    hidden: Path
    """Folder with all gold. Of its files, a fork reads only those that the engine needs for its task."""


def enter(folder: Path, data: Data, task: str, memory_mb: int) -> None:
    """Makes an empty folder the home of this fork, the only one that it can write to from now on.

    Not even the gold of its own task can be read.
    """
    link_data(folder / _ROOT, data.folder)
    parts = [data.folder / "tasks" / task / name for name in _TASK_PARTS]
    own = folder / _ROOT / "data" / "tasks" / task
    own.mkdir()
    for part in parts:
        (own / part.name).symlink_to(part)
    os.environ["HOME"] = os.environ["TMPDIR"] = str(folder)
    tempfile.tempdir = None  # the stem may have remembered its own
    os.chdir(folder)
    confine_code([*parts, *(data.folder / name for name in _LINKED)], hidden=data.hidden)
    resource.setrlimit(resource.RLIMIT_DATA, (memory_mb * _MEGABYTE, memory_mb * _MEGABYTE))
