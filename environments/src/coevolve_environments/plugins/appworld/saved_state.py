"""Reads the databases that an attempt has saved. A policy's code may have written them.

The engine saves each app's database as the statements that lead to it from the published one. They are data
of the attempt: a statement may change rows of the app's tables, and nothing else.
"""

import json
import os
import re
import stat
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

_MAX_BYTES = 128 * 2**20  # of all apps together
_STATEMENT = re.compile(r'(?:INSERT INTO|UPDATE|DELETE FROM)\s+"?(\w+)"?[\s(]')
_FULL_TEXT = "_fts"  # suffix of the table with the searched text of another


def copy_state(
    saved: tuple[Path, Sequence[str]], start: Path, target: Path, tables: Mapping[str, Collection[str]]
) -> dict[str, set[str]]:
    """Copies the statements of each app, and returns the tables by app that differ from the start's.

    Args:
        saved: a folder of ours, and the folders below it that lead to the saved files.
        start: folder with the statements of the task's own databases.
        tables: names of the tables by app.

    Raises:
        ValueError, OSError: no state, or one that the engine cannot have saved. No link is followed.
    """
    folder = _open_folders(*saved)
    left, changed = _MAX_BYTES, {}
    try:
        for app, names in tables.items():
            text = _read(folder, f"{app}.jsonl", left)
            left -= len(text)
            changed[app] = _changed_tables(app, text, _lines(start / f"{app}.jsonl"), names)
            (target / f"{app}.jsonl").write_bytes(text)
    finally:
        os.close(folder)
    return changed


def _changed_tables(app: str, text: bytes, start: list[bytes], names: Collection[str]) -> set[str]:
    lines = text.split(b"\n")
    is_continued = lines[: len(start)] == start
    changed: set[str] = set(() if is_continued else names)
    for line in lines[len(start) if is_continued else 0 :]:
        if line.strip():
            changed.add(_table(app, line, names))
    return changed


def _table(app: str, line: bytes, names: Collection[str]) -> str:
    statement = json.loads(line)[0]
    found = _STATEMENT.match(statement) if isinstance(statement, str) else None
    table = found.group(1).removesuffix(_FULL_TEXT) if found else None
    if table not in names:
        raise ValueError(f"the attempt's saved state of {app} has a statement that is no change of a row")
    return str(table)


def _lines(file: Path) -> list[bytes]:
    return file.read_bytes().rstrip(b"\n").split(b"\n") if file.exists() else []


def _open_folders(root: Path, names: Sequence[str]) -> int:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
    folder = os.open(root, flags)
    for name in names:
        outer = folder
        try:
            folder = os.open(name, flags, dir_fd=outer)
        finally:
            os.close(outer)
    return folder


def _read(folder: int, name: str, limit: int) -> bytes:
    # Without waiting: a named pipe would block.
    with os.fdopen(os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or found.st_size > limit:
            raise ValueError(f"the attempt's saved state has no file {name} of at most {limit} bytes")
        text = file.read(limit + 1)
    if len(text) > limit:
        raise ValueError(f"the attempt's saved state has more than {limit} bytes in {name}")
    return text
