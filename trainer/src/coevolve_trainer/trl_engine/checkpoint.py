"""Makes Trainer's checkpoints crash-safe: it writes them in place and resumes from the highest number.

A checkpoint is written into a staging folder, synced, completed by a manifest of hashes and renamed to
`step-NNNNNN`, as the builtin engine's are, so that pins and retention are the same.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

from ..files.atomic_files import sha256_of_file, sync_path, write_synced
from ..updates.checkpoint import CURSOR, Cursor, key_of_intact_checkpoint, publish_checkpoint
from ..updates.resume import newest_intact

STAGING = ".staging-trl"


def complete_checkpoint(folder: Path, key: str, step: int, cursor: bytes) -> bool:
    """Publishes the checkpoint that Trainer has written; returns whether it is the best. Rank zero only."""
    written = folder / STAGING / f"checkpoint-{step}"
    write_synced(written / CURSOR, cursor)
    files = sorted(path for path in written.rglob("*") if path.is_file())
    for path in files:
        sync_path(path)
    hashes = {str(path.relative_to(written)): sha256_of_file(path) for path in files}
    return publish_checkpoint(written, folder / f"step-{step:06d}", key, hashes)


def find_checkpoint(folder: Path, key: str, report: Callable[[str], None]) -> Path | None:
    """Returns the newest intact checkpoint of the job; `report` is called for each damaged newer one."""
    folder.mkdir(exist_ok=True)
    shutil.rmtree(folder / STAGING, ignore_errors=True)
    return newest_intact(folder, key, key_of_intact_checkpoint, report)


def read_cursor(checkpoint: Path) -> Cursor:
    return Cursor(**json.loads((checkpoint / CURSOR).read_bytes()))
