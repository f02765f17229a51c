"""The disk space that a job needs: of its checkpoints, its policies and its output."""

from __future__ import annotations

from pathlib import Path

from ..files.disk_space import BYTES_PER_WEIGHT, require_free_space
from ..job import Job
from ..settings import RlSettings, TrainSettings
from .retention import KEPT


def require_space_for_job(job: Job, job_dir: Path, trained_parameters: int, updates: int = 0) -> None:
    """Raises `disk-full` when the disk has less space than the job's remaining files and its reserve need."""
    written = sum(_bytes_of(job_dir / name) for name in ("checkpoints", "policies"))
    needed = max(0, bytes_of_job(job, trained_parameters, updates) - written)
    require_free_space(job_dir, needed + job.settings.reserve_disk_bytes)


def bytes_of_job(job: Job, trained_parameters: int, updates: int) -> int:
    """Returns the most bytes that the files of the job take at once, with `updates` in all.

    A checkpoint has the trained weights (of an adapter: its own alone) and their two moments. The newest
    ones, the best one and the staged one exist at once, fewer in a short job. The output replaces the staged
    one; it has the weights and copies of the base's tokenizer. An RL job also publishes such a policy per
    step, and ends with a trainer state of two moments.
    """
    settings = job.settings
    every = settings.checkpoint_every if isinstance(settings, TrainSettings) else 1
    checkpoints = updates // every + 1  # one more when the job is stopped
    weights = trained_parameters * BYTES_PER_WEIGHT
    policy = weights + (_tokenizer_bytes(job.base) if job.base is not None else 0)
    end = policy + (2 * weights if isinstance(settings, RlSettings) else 0)
    kept = min(checkpoints, KEPT + 1)
    staged = 3 * weights if checkpoints > kept else 0
    return job.steps * policy + kept * 3 * weights + max(staged, end)


def _tokenizer_bytes(base: Path) -> int:
    """Returns the size of the files that every policy copies from its base: all but weights and manifest."""
    return sum(path.stat().st_size for path in base.iterdir() if path.suffix != ".safetensors")


def _bytes_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
