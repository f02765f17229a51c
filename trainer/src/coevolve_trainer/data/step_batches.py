"""The batches of a resident job: one file per step, put there by whoever plays the rollouts."""

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


def batch_file(job_dir: Path, step: int) -> Path:
    """{"dataset": absolute path of a .jsonl file, "sha256": its hash}, written whole; steps count from 1."""
    return job_dir / "batches" / f"step-{step:06d}.json"


def wait_for_batch(job_dir: Path, step: int, *, idle_timeout_s: float, stop: Event) -> StepBatch:
    """The batch of `step`, as soon as its file is there; its dataset is what its hash says.

    Raises:
        JobFailure: `cancelled` when `stop` is set or nothing came for `idle_timeout_s`; `bad-input`.
    """
    path = batch_file(job_dir, step)
    until = time.monotonic() + idle_timeout_s
    while not stop.is_set():
        batch = read_batch_file(path)
        if batch is not None:
            verify_file(batch.path, batch.sha256, field=f"batch {step}: dataset")
            return batch
        if time.monotonic() > until:
            raise JobFailure(
                "cancelled", f"no batch for update {step} within {idle_timeout_s:g} s: no {path}"
            )
        stop.wait(POLL_S)
    raise JobFailure("cancelled", f"stopped while it waited for the batch of update {step}")


def read_batch_file(path: Path) -> StepBatch | None:
    """None for no file, and for one that was torn with its machine: whoever put it there does so again.

    Raises:
        JobFailure: `bad-input` when it does not name a dataset and its hash.
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
