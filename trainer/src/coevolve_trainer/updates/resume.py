"""Resumes a killed job: all state that a new process takes over from earlier processes of the same job.

A started job calls, in this order:

1. `find_finished_policy`: an intact output with the job's inputs is the result; nothing is computed.
2. `read_newest_checkpoint`: reads the newest intact checkpoint of the job; reports and skips damaged ones.
3. `discard_unpublished_policies` and `verify_consumed_batches` (RL jobs): a policy is published after its
   checkpoint, so rl_policies.py publishes the policy of the newest checkpoint again if it is missing.
4. `restore_train_state`: sets weights, optimizer moments and random states as the checkpoint has them, or as
   they are at the job's start.

The checkpoint's cursor holds the rest: learning rate and data order are functions of its step, so a resumed
job computes the bits of an uninterrupted one. checkpoint.py writes and reads a checkpoint.

This module does not import torch when it is loaded: a finished job exits before that cost.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data.step_batches import batch_file_path, read_batch_file
from ..failures import bad_input
from ..files.policy_files import read_manifest, remove_if_damaged, verify_policy
from ..job import Job
from ..process_group import ProcessGroup
from ..progress import Progress
from ..settings import RlSettings, TrainSettings

if TYPE_CHECKING:
    import torch

    from .checkpoint import Checkpoint
    from .saved_state import SavedState
    from .train_state import TrainState


def find_finished_policy(job: Job, progress: Progress) -> str | None:
    """Returns the hash of the job's finished output; removes a damaged output.

    Raises:
        JobFailure: `bad-input` when the output belongs to a job with other inputs.
    """
    remove_if_damaged(job.output, progress.log_damage, progress.finished_policy_hash)
    if not job.output.exists():
        return None
    policy_hash = verify_policy(job.output, field="output")
    manifest = read_manifest(job.output)
    for name, expected in job.manifest_fields().items():
        if manifest.get(name) != expected:
            raise bad_input(
                f"output: {name} of the policy in {job.output}", manifest.get(name), str(expected)
            )
    return policy_hash


def read_newest_checkpoint(
    folder: Path, key: str, process_group: ProcessGroup, report: Callable[[str], None]
) -> Checkpoint | None:
    """Reads the newest intact checkpoint with this key; `report` is called for each damaged newer one.

    Collective: call it on every process.
    """
    from .checkpoint import load_checkpoint

    path = process_group.on_rank_zero(lambda: _find_newest_checkpoint(folder, key, report))
    return None if path is None else load_checkpoint(path, rank=process_group.rank)


def discard_unpublished_policies(policies: Path) -> None:
    """Removes the staging directories of policies that a killed RL job did not publish."""
    policies.mkdir(exist_ok=True)
    for staging in policies.glob(".staging-*"):
        shutil.rmtree(staging)


def verify_consumed_batches(job_dir: Path, updates: Sequence[Mapping[str, Any]]) -> None:
    """Raises `bad-input` when the batch of an update in the checkpoint has been replaced since."""
    for update in updates:
        path = batch_file_path(job_dir, update["step"])
        found = read_batch_file(path)
        if found is not None and found.sha256 != update["dataset_sha256"]:
            expected = f"{update['dataset_sha256']}, the batch of update {update['step']}"
            raise bad_input(str(path), found.sha256, expected)


def restore_train_state(
    job: Job,
    settings: TrainSettings | RlSettings,
    checkpoint: Checkpoint | None,
    handed_over: SavedState | None,
    *,
    device: torch.device,
    process_group: ProcessGroup,
) -> TrainState:
    """Returns the train state in the checkpoint; without one, the state at the job's start.

    `handed_over` is the trainer state of an earlier job, with which an RL job starts.
    """
    import torch

    from .random_states import restore_random_states
    from .train_state import load_train_state

    assert job.base is not None
    saved = checkpoint.saved if checkpoint else handed_over
    torch.manual_seed(job.seed)
    train_state = load_train_state(
        job.base, settings, device=device, process_group=process_group, saved=saved
    )
    if checkpoint is not None:
        restore_random_states(checkpoint.random_states)
    elif process_group.size > 1:
        torch.manual_seed(job.seed + process_group.rank)  # different dropout on every process
    return train_state


def _find_newest_checkpoint(folder: Path, key: str, report: Callable[[str], None]) -> Path | None:
    from .checkpoint import key_of_intact_checkpoint

    for staging in folder.glob(".staging-*"):
        shutil.rmtree(staging)
    return newest_intact(folder, key, key_of_intact_checkpoint, report)


def newest_intact(
    folder: Path, key: str, key_of: Callable[[Path], str | None], report: Callable[[str], None]
) -> Path | None:
    """Returns the newest checkpoint of the job `key`; damaged ones, whose `key_of` is None, are reported."""
    for path in sorted(folder.glob("step-*"), reverse=True):
        found = key_of(path)
        if found == key:
            return path
        if found is None:
            report(f"{path}: a file does not match the manifest; an earlier checkpoint is used")
    return None
