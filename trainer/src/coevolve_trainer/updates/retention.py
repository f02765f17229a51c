"""Removal of old checkpoints: the newest two, the best one and the pinned ones are kept."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from ..failures import bad_input

KEPT = 2  # the newest, and another in case the newest gets damaged


def remove_old_checkpoints(folder: Path, newest: Path) -> bool:
    """Removes the checkpoints in `folder` that need not be kept; returns whether `newest` is the best.

    The best has the lowest mean loss since the previous checkpoint. The best so far is always among the kept
    ones, so no other record of it is needed.
    """
    newest_first = sorted(folder.glob("step-*"), reverse=True)
    own = newest_first.index(newest)  # newer ones belong to this folder's job with earlier settings
    of_job = [path for path in newest_first[own:] if _key_of(path) == _key_of(newest)]
    best = min(of_job, key=_mean_loss)
    kept = {*of_job[:KEPT], best, *(folder / name for name in _pinned(folder.parent))}
    for path in newest_first:
        if path not in kept:
            shutil.rmtree(path)
    return best == newest


def pin(job_dir: Path, step: int) -> None:
    """Excludes the checkpoint of update `step` from removal; the job may be running.

    Raises:
        JobFailure: `bad-input` when there is no such checkpoint, or no longer.
    """
    name = f"step-{step:06d}"
    mark = job_dir / "pins" / name
    mark.parent.mkdir(exist_ok=True)
    mark.touch()
    # Checked after the mark is set, so that a running job cannot remove the checkpoint in between
    if not (job_dir / "checkpoints" / name / "manifest.json").is_file():
        mark.unlink()
        found = sorted(int(path.name[5:]) for path in (job_dir / "checkpoints").glob("step-*"))
        raise bad_input("step", step, f"one of the checkpoints {found}")


def unpin(job_dir: Path, step: int) -> None:
    """Allows the job to remove a pinned checkpoint when it writes the next one."""
    mark = job_dir / "pins" / f"step-{step:06d}"
    if not mark.exists():
        raise bad_input("step", step, f"one of the pinned {sorted(_pinned(job_dir))}")
    mark.unlink()


def _pinned(job_dir: Path) -> list[str]:
    return [mark.name for mark in (job_dir / "pins").glob("step-*")]


def _key_of(path: Path) -> str | None:
    try:
        return str(json.loads((path / "manifest.json").read_bytes())["job"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _mean_loss(path: Path) -> float:
    try:
        return float(json.loads((path / "state.json").read_bytes())["mean_loss"])
    except (OSError, ValueError, KeyError, TypeError):
        return float("inf")
