"""Checkpoints: the files from which resume.py continues a killed job with equal bits.

A checkpoint is staged, synced, completed by a manifest of hashes and renamed. A crash leaves a directory
whose manifest does not verify. Each process of a sharded job writes its shards, from which the process of
the same rank resumes; otherwise rank zero writes everything.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file
from torch import Tensor

from ..files.atomic_files import canonical_json, publish_directory, sha256_of_file, sync_path, write_synced
from ..settings import STOP_WINDOW
from .retention import remove_old_checkpoints
from .saved_state import SavedState

RANDOM, CURSOR, MANIFEST = "random.safetensors", "state.json", "manifest.json"


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


def files_of(part: SavedState, rank: int) -> dict[str, Mapping[str, Tensor]]:
    """Returns the tensors that a process adds to a checkpoint, by file; a process may have none."""
    suffix = f".rank{rank}" if part.is_shard else ""
    files = {"model": part.weights or {}, "optimizer": part.optimizer_state}
    return {f"{name}{suffix}.safetensors": tensors for name, tensors in files.items() if tensors}


def write_tensors(staging: Path, files: Mapping[str, Mapping[str, Tensor]]) -> dict[str, str]:
    """Writes and syncs files of a staged checkpoint; returns their hashes by name."""
    for name, tensors in files.items():
        save_file({key: tensor.detach().cpu() for key, tensor in tensors.items()}, staging / name)
        # safetensors lets only the owner read; a folder has the bits that other files get
        (staging / name).chmod(staging.stat().st_mode & 0o666)
        sync_path(staging / name)
    return {name: sha256_of_file(staging / name) for name in files}


def publish_checkpoint(staging: Path, final: Path, key: str, hashes: Mapping[str, str]) -> bool:
    """Completes and renames a staged checkpoint, whose files are synced, and removes old ones.

    Returns whether it is the best so far. `key` is the job's checkpoint key.
    """
    write_synced(staging / MANIFEST, canonical_json({"job": key, "files": hashes}))
    shutil.rmtree(final, ignore_errors=True)  # a damaged checkpoint of the same step
    publish_directory(staging, final)
    return remove_old_checkpoints(final.parent, final)


def load_checkpoint(path: Path, *, rank: int) -> Checkpoint:
    """Reads an intact checkpoint, with one rank's random states and, in a sharded job, its shards."""
    cursor = Cursor(**json.loads((path / CURSOR).read_bytes()))
    prefix = f"{rank}."
    random_states = {
        name.removeprefix(prefix): state
        for name, state in load_file(path / RANDOM).items()
        if name.startswith(prefix)
    }
    is_shard = (path / f"model.rank{rank}.safetensors").exists()
    suffix = f".rank{rank}" if is_shard else ""
    weights, moments = (path / f"{name}{suffix}.safetensors" for name in ("model", "optimizer"))
    optimizer = load_file(moments) if moments.exists() else {}  # before the first update of an RL job
    return Checkpoint(SavedState(load_file(weights), optimizer, is_shard), cursor, random_states)


def key_of_intact_checkpoint(path: Path) -> str | None:
    """Returns the key of the job that wrote a checkpoint; None if a file is missing or changed."""
    try:
        manifest = json.loads((path / MANIFEST).read_bytes())
        files: dict[str, str] = manifest["files"]
        intact = CURSOR in files and all(
            sha256_of_file(path / name) == found for name, found in files.items()
        )
        return str(manifest["job"]) if intact else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
