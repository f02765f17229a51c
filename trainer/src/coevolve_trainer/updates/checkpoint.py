"""Checkpoints: the files from which resume.py continues a killed job with equal bits.

A checkpoint is staged, synced, completed by a manifest of hashes and renamed. A crash leaves a directory
whose manifest does not verify. Tensors are stored in full, for any number of processes.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save
from torch import Tensor

from ..files.atomic_files import (
    canonical_json,
    create_empty_directory,
    publish_directory,
    sha256_of_file,
    write_synced,
)
from ..files.disk_space import require_free_space
from ..settings import STOP_WINDOW
from .random_states import capture_random_states
from .retention import remove_old_checkpoints
from .train_state import SavedState, TrainState

_WEIGHTS, _OPTIMIZER, _RANDOM, _CURSOR = (
    "model.safetensors",
    "optimizer.safetensors",
    "random.safetensors",
    "state.json",
)
_FILES = {_WEIGHTS, _OPTIMIZER, _RANDOM, _CURSOR}


@dataclass
class Cursor:
    """Position of a job in its training. Learning rate and data order are functions of `step`."""

    step: int = 0  # updates done
    tokens: int = 0  # trained on so far, without padding
    seconds: float = 0.0
    micro_batch_tokens: int = 0  # current value: less than the setting after memory ran out
    mean_loss: float = 0.0  # nats, over the updates since the previous checkpoint
    losses: list[float] = field(default_factory=list)
    """Nats, of the newest updates, at most STOP_WINDOW: a resumed job ends where it would have ended."""
    divergence: dict[str, float] = field(default_factory=dict)
    """State of the divergence detector."""
    updates: list[dict[str, Any]] = field(default_factory=list)
    """Record of every finished batch of an RL job: its policy, its loss and metrics."""
    batch: dict[str, Any] = field(default_factory=dict)
    """State of the batch of an RL job of whose updates a part is done; empty between batches."""

    def count(self, loss: float, tokens: int) -> None:
        """Counts an update."""
        self.step, self.tokens = self.step + 1, self.tokens + tokens
        self.losses = [*self.losses, loss][-STOP_WINDOW:]


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint in memory. The random states are restored last, because loading a model draws numbers."""

    saved: SavedState
    cursor: Cursor
    random_states: Mapping[str, Tensor]


def save_checkpoint(
    folder: Path, key: str, train_state: TrainState, cursor: Cursor, *, reserve_bytes: int
) -> bool:
    """Adds `step-NNNNNN` to `folder` and removes old checkpoints; returns whether the new one is the best.

    Collective: call it on every process; rank zero writes. `key` is the job's checkpoint key.

    Raises:
        JobFailure: `disk-full` when less space than the checkpoint and `reserve_bytes` is free; then nothing
            is written.
    """
    tensors = {_WEIGHTS: train_state.weights(), _OPTIMIZER: train_state.optimizer_state()}
    random_states: dict[str, Tensor] = {}
    for rank, states in enumerate(train_state.process_group.all_gather(capture_random_states)):
        random_states |= {f"{rank}.{name}": state for name, state in states.items()}

    def write() -> bool:
        files = {**tensors, _RANDOM: random_states}
        size = sum(t.nbytes for named in files.values() for t in named.values())
        require_free_space(folder, size + reserve_bytes)
        staging = create_empty_directory(folder / f".staging-{cursor.step:06d}")
        for name, named in files.items():
            write_synced(staging / name, save({key: t.detach().cpu() for key, t in named.items()}))
        write_synced(staging / _CURSOR, canonical_json(vars(cursor)))
        hashes = {file.name: sha256_of_file(file) for file in staging.iterdir()}
        write_synced(staging / "manifest.json", canonical_json({"job": key, "files": hashes}))
        final = folder / f"step-{cursor.step:06d}"
        shutil.rmtree(final, ignore_errors=True)  # a damaged checkpoint of the same step
        publish_directory(staging, final)
        return remove_old_checkpoints(folder, final)

    return train_state.process_group.on_rank_zero(write)


def load_checkpoint(path: Path, *, rank: int) -> Checkpoint:
    """Reads an intact checkpoint, with the random states of one rank."""
    cursor = Cursor(**json.loads((path / _CURSOR).read_bytes()))
    prefix = f"{rank}."
    random_states = {
        name.removeprefix(prefix): state
        for name, state in load_file(path / _RANDOM).items()
        if name.startswith(prefix)
    }
    saved = SavedState(load_file(path / _WEIGHTS), load_file(path / _OPTIMIZER))
    return Checkpoint(saved, cursor, random_states)


def key_of_intact_checkpoint(path: Path) -> str | None:
    """Returns the key of the job that wrote a checkpoint; None if a file is missing or changed."""
    try:
        manifest = json.loads((path / "manifest.json").read_bytes())
        files: dict[str, str] = manifest["files"]
        intact = all(sha256_of_file(path / name) == expected for name, expected in files.items())
        return str(manifest["job"]) if intact and files.keys() >= _FILES else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
