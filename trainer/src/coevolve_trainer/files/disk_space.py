"""Whether the disk has room for a job before the job spends anything."""

from __future__ import annotations

from pathlib import Path

from ..job import Job
from .atomic_files import require_free_disk

# Files of the size of what is trained: the newest two checkpoints, the best one and the one being staged,
# each of weights and two moments; a trainer state of the moments; the output
WRITTEN = 4 * 3 + 2 + 1
BYTES_PER_WEIGHT = 4  # what is trained is float32


def require_room(job: Job, job_dir: Path, trained_parameters: int) -> None:
    """Raises `disk-full` when less is free than the job writes, its policies and its reserve."""
    files = WRITTEN + job.steps  # a resident job leaves a policy after each step
    needed = files * trained_parameters * BYTES_PER_WEIGHT
    require_free_disk(job_dir, needed + job.settings.reserve_disk_bytes)
