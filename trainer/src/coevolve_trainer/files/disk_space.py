"""Checks of free disk space, made before the work whose output needs it."""

from __future__ import annotations

import shutil
from pathlib import Path

from ..failures import JobFailure
from ..job import Job

# Files of the size of the trained weights: the newest two checkpoints, the best one and the staged one, each
# with weights and two moments; a trainer state with two moments; the output
FILES_PER_JOB = 4 * 3 + 2 + 1
BYTES_PER_WEIGHT = 4  # trained weights are float32


def require_space_for_job(job: Job, job_dir: Path, trained_parameters: int) -> None:
    """Raises `disk-full` when the disk has less space than the job's files and its reserve need."""
    files = FILES_PER_JOB + job.steps  # an RL job also publishes one policy per step
    needed = files * trained_parameters * BYTES_PER_WEIGHT
    require_free_space(job_dir, needed + job.settings.reserve_disk_bytes)


def require_free_space(folder: Path, needed_bytes: int) -> None:
    """Raises `disk-full` when the disk of `folder` has less than `needed_bytes` free."""
    free = shutil.disk_usage(folder).free
    if free < needed_bytes:
        raise JobFailure("disk-full", f"{folder}: {free:,} bytes are free, the job needs {needed_bytes:,}")
