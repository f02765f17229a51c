"""The batches of an RL job: one file per step, written by the caller that collects the rollouts."""

from __future__ import annotations

import json
import time
from pathlib import Path
from threading import Event
from typing import NamedTuple

from ..failures import JobFailure, bad_input
from ..files.atomic_files import verify_file

POLL_S = 0.05


class StepBatch(NamedTuple):
    path: Path
    sha256: str


def batch_file_path(job_dir: Path, step: int) -> Path:
    """The file is {"dataset": absolute path of a .jsonl file, "sha256": its hash}; steps count from 1."""
    return job_dir / "batches" / f"step-{step:06d}.json"


def wait_for_batch(job_dir: Path, step: int, *, idle_timeout_s: float, stop: Event) -> StepBatch:
    """Waits for the batch file of `step` and verifies the hash of its dataset.

    Raises:
        JobFailure: `cancelled` when `stop` is set or no file appears within `idle_timeout_s`; `bad-input`.
    """
    path = batch_file_path(job_dir, step)
    deadline = time.monotonic() + idle_timeout_s
    while not stop.is_set():
        batch = read_batch_file(path)
        if batch is not None:
            verify_file(batch.path, batch.sha256, field=f"batch {step}: dataset")
            return batch
        if time.monotonic() > deadline:
            found = f"no batch for update {step} within {idle_timeout_s:g} s"
            raise JobFailure("cancelled", f"{found}: no file {path}; start the job again to resume")
        stop.wait(POLL_S)
    raise JobFailure("cancelled", f"stopped while waiting for the batch of update {step}")


def read_batch_file(path: Path) -> StepBatch | None:
    """Returns None for a missing file and for one that a power loss truncated: the caller writes it again.

    Raises:
        JobFailure: `bad-input` when the file does not contain a dataset and its hash.
    """
    expected = 'an object with "dataset", an absolute path, and "sha256"'
    try:
        given = json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return None
    fields = given if isinstance(given, dict) else {}
    dataset, sha256 = fields.get("dataset"), fields.get("sha256")
    if not isinstance(dataset, str) or not isinstance(sha256, str) or not Path(dataset).is_absolute():
        raise bad_input(str(path), json.dumps(given), expected)
    return StepBatch(Path(dataset), sha256)
