"""Tensors of a train state in files: in a checkpoint, and in the state that an RL job hands to the next."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from ..failures import bad_input
from ..files.atomic_files import write_atomically


@dataclass(frozen=True)
class SavedState:
    """Tensors of a train state that an earlier process, or an earlier job, wrote."""

    weights: Mapping[str, Tensor] | None
    optimizer_state: Mapping[str, Tensor]
    is_shard: bool = False
    """Whether these are the shards of this rank and not full tensors."""


def write_trainer_state(path: Path, optimizer_state: Mapping[str, Tensor]) -> str:
    """Writes the state that the next RL job needs in addition to the policy; returns the file's sha256."""
    data = save(dict(optimizer_state))
    write_atomically(path, data)
    return hashlib.sha256(data).hexdigest()


def read_trainer_state(path: Path) -> SavedState:
    """Reads another job's state; learning rate and weight decay are not part of it.

    Raises:
        JobFailure: `bad-input` when the file is not a trainer state.
    """
    try:
        return SavedState(None, load(path.read_bytes()))
    except SafetensorError as error:
        raise bad_input("trainer_state", f"{path}: {error}", "a trainer-state.safetensors") from None
