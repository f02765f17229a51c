"""Checks of free disk space, made before the work whose output needs it."""

from __future__ import annotations

import shutil
from pathlib import Path

from ..failures import JobFailure

BYTES_PER_WEIGHT = 4  # trained weights are float32


def require_free_space(folder: Path, needed_bytes: int) -> None:
    """Raises `disk-full` when the disk of `folder` has less than `needed_bytes` free."""
    free = shutil.disk_usage(folder).free
    if free < needed_bytes:
        raise JobFailure("disk-full", f"{folder}: {free:,} bytes are free, the job needs {needed_bytes:,}")
