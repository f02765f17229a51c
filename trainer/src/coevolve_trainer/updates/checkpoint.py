"""Checkpoints from which a killed job goes on to bit-equal weights.

A checkpoint is staged, synced, closed by a manifest of hashes and renamed. One that a crash tore has no
manifest that verifies, and is passed over. It holds whole tensors, on however many processes it was made.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save
from torch import Tensor

from ..files.atomic_files import (
    canonical_json,
    fresh_directory,
    publish_directory,
    require_free_disk,
    sha256_of_file,
    write_synced,
)
from ..process_group import Ranks
from .random_states import random_states, restore_random_states
from .retention import prune
from .train_state import Learner, Saved

_WEIGHTS, _OPTIMIZER, _RANDOM, _CURSOR = (
    "model.safetensors",
    "optimizer.safetensors",
    "random.safetensors",
    "state.json",
)
_FILES = {_WEIGHTS, _OPTIMIZER, _RANDOM, _CURSOR}


@dataclass
class Cursor:
    """Where a run stands. Schedule and data order are functions of the update, so this is all of both."""

    step: int = 0  # updates done
    tokens: int = 0  # trained on so far, without padding
    seconds: float = 0.0
    micro_batch_tokens: int = 0  # as it is now: half of the setting's once memory ran out
    mean_loss: float = 0.0  # nats, over the updates since the checkpoint before
    divergence: dict[str, float] = field(default_factory=dict)
    """What is remembered of the losses so far, to know one that runs away."""
    updates: list[dict[str, Any]] = field(default_factory=list)
    """What a resident job tells of each update: its batch, its policy, its loss and metrics."""


@dataclass(frozen=True)
class Checkpoint:
    """One that was read. Its random states are restored last: making a learner draws numbers."""

    saved: Saved
    cursor: Cursor
    random: Mapping[str, Tensor]

    def restore_random(self) -> None:
        restore_random_states(self.random)


def save_checkpoint(folder: Path, job: str, learner: Learner, cursor: Cursor, *, reserve_bytes: int) -> bool:
    """Adds `step-NNNNNN` under `folder` and removes what need not be kept; returns whether it is the best.

    Call it on every process; the first one writes. `job` is the job's identity.

    Raises:
        JobFailure: `disk-full` when less than the checkpoint and `reserve_bytes` is free; nothing is written.
    """
    tensors = {_WEIGHTS: learner.weights(), _OPTIMIZER: learner.state()}
    random: dict[str, Tensor] = {}
    for rank, states in enumerate(learner.ranks.together(random_states)):
        random |= {f"{rank}.{name}": state for name, state in states.items()}

    def write() -> bool:
        files = {**tensors, _RANDOM: random}
        size = sum(t.nbytes for named in files.values() for t in named.values())
        require_free_disk(folder, size + reserve_bytes)
        staging = fresh_directory(folder / f".staging-{cursor.step:06d}")
        for name, named in files.items():
            write_synced(staging / name, save({key: t.detach().cpu() for key, t in named.items()}))
        write_synced(staging / _CURSOR, canonical_json(vars(cursor)))
        hashes = {file.name: sha256_of_file(file) for file in staging.iterdir()}
        write_synced(staging / "manifest.json", canonical_json({"job": job, "files": hashes}))
        final = folder / f"step-{cursor.step:06d}"
        shutil.rmtree(final, ignore_errors=True)  # a damaged one of the same step
        publish_directory(staging, final)
        return prune(folder, final)

    return learner.ranks.first(write)


def read_checkpoint(folder: Path, job: str, ranks: Ranks, tell: Callable[[str], None]) -> Checkpoint | None:
    """The newest whole checkpoint of this job, if there is one. Call it on every process.

    `tell` hears of each that is newer and damaged.
    """
    path = ranks.first(lambda: _newest(folder, job, tell))
    if path is None:
        return None
    cursor = Cursor(**json.loads((path / _CURSOR).read_bytes()))
    prefix = f"{ranks.rank}."
    random = {
        name.removeprefix(prefix): state
        for name, state in load_file(path / _RANDOM).items()
        if name.startswith(prefix)
    }
    return Checkpoint(Saved(load_file(path / _WEIGHTS), load_file(path / _OPTIMIZER)), cursor, random)


def _newest(folder: Path, job: str, tell: Callable[[str], None]) -> Path | None:
    for staging in folder.glob(".staging-*"):
        shutil.rmtree(staging)
    for path in sorted(folder.glob("step-*"), reverse=True):
        owner = _owner(path)
        if owner == job:
            return path
        if owner is None:
            tell(f"{path}: not all of it is what its manifest lists, so an earlier checkpoint is taken")
    return None


def _owner(path: Path) -> str | None:
    """The job whose checkpoint it is, when it is whole."""
    try:
        manifest = json.loads((path / "manifest.json").read_bytes())
        files: dict[str, str] = manifest["files"]
        whole = all(sha256_of_file(path / name) == expected for name, expected in files.items())
        return str(manifest["job"]) if whole and files.keys() >= _FILES else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
