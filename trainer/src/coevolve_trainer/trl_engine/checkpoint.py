"""Makes Trainer's checkpoints crash-safe: it writes them in place and resumes from the highest number.

A checkpoint is written into a staging folder, synced, completed by a manifest of hashes and renamed to
`step-NNNNNN`, as the builtin engine's are, so that pins and retention are the same.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

from ..files.atomic_files import canonical_json, publish_directory, sha256_of_file, sync_path, write_synced
from ..updates.checkpoint import Cursor
from ..updates.resume import newest_intact
from ..updates.retention import remove_old_checkpoints

STAGING = ".staging-trl"
_MANIFEST, _CURSOR = "manifest.json", "state.json"


def publish_checkpoint(folder: Path, key: str, cursor: Cursor) -> bool:
    """Publishes the checkpoint that Trainer has written; returns whether it is the best. Rank zero only."""
    written = folder / STAGING / f"checkpoint-{cursor.step}"
    write_synced(written / _CURSOR, canonical_json(vars(cursor)))
    files = sorted(path for path in written.rglob("*") if path.is_file())
    for path in files:
        sync_path(path)
    hashes = {str(path.relative_to(written)): sha256_of_file(path) for path in files}
    write_synced(written / _MANIFEST, canonical_json({"job": key, "files": hashes}))
    final = folder / f"step-{cursor.step:06d}"
    shutil.rmtree(final, ignore_errors=True)  # a damaged checkpoint of the same step
    publish_directory(written, final)
    return remove_old_checkpoints(folder, final)


def find_checkpoint(folder: Path, key: str, report: Callable[[str], None]) -> Path | None:
    """Returns the newest intact checkpoint of the job; `report` is called for each damaged newer one."""
    folder.mkdir(exist_ok=True)
    shutil.rmtree(folder / STAGING, ignore_errors=True)
    return newest_intact(folder, key, _key_of_intact, report)


def read_cursor(checkpoint: Path) -> Cursor:
    return Cursor(**json.loads((checkpoint / _CURSOR).read_bytes()))


def _key_of_intact(path: Path) -> str | None:
    try:
        manifest = json.loads((path / _MANIFEST).read_bytes())
        files: dict[str, str] = manifest["files"]
        intact = _CURSOR in files and all(
            sha256_of_file(path / name) == found for name, found in files.items()
        )
        return str(manifest["job"]) if intact else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
