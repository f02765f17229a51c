"""Checkpoints from which a killed job goes on to bit-equal weights.

A checkpoint is staged, synced, closed by a manifest of hashes and renamed. One that a crash tore has no
manifest that verifies, and is passed over.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors.torch import load_file, save
from torch import Tensor, nn

from ..files.durable import canonical_json, fresh_directory, publish_directory, sha256_of_file, write_synced
from ..models.decoder import load_weights, weights_of

if TYPE_CHECKING:
    from transformers.models.qwen3.modeling_qwen3 import Qwen3ForCausalLM

KEPT = 2  # the newest, and one more should the newest be damaged
_FILES = {"model.safetensors", "optimizer.safetensors", "state.json"}
_HEAD = "value-head.safetensors"  # PPO's; no part of the policy
_RNG = "torch_rng"


@dataclass
class Cursor:
    """Where a run stands. Schedule and data order are functions of the update, so this is all of both."""

    step: int = 0  # updates done
    tokens: int = 0  # trained on so far, without padding
    seconds: float = 0.0
    updates: list[dict[str, Any]] = field(default_factory=list)
    """What a resident job tells of each update: its batch, its policy, its loss and metrics."""


def save_checkpoint(
    folder: Path,
    job: str,
    model: Qwen3ForCausalLM,
    optimizer: torch.optim.AdamW,
    cursor: Cursor,
    value_head: nn.Linear | None = None,
) -> None:
    """Adds `step-NNNNNN` under `folder` and removes all but the newest few. `job` is the job's identity."""
    staging = fresh_directory(folder / f".staging-{cursor.step:06d}")
    write_synced(staging / "model.safetensors", save(weights_of(model)))
    state = {**optimizer_tensors(optimizer), _RNG: torch.get_rng_state()}
    write_synced(staging / "optimizer.safetensors", save(state))
    if value_head is not None:
        write_synced(staging / _HEAD, save(value_head.state_dict()))
    write_synced(staging / "state.json", canonical_json(vars(cursor)))
    hashes = {file.name: sha256_of_file(file) for file in staging.iterdir()}
    write_synced(staging / "manifest.json", canonical_json({"job": job, "files": hashes}))
    final = folder / f"step-{cursor.step:06d}"
    shutil.rmtree(final, ignore_errors=True)  # a damaged one of the same step
    publish_directory(staging, final)
    newest_first = sorted(folder.glob("step-*"), reverse=True)
    own = newest_first.index(final)  # what lies beyond is of this folder's job when it had other settings
    for old in [*newest_first[:own], *newest_first[own + KEPT :]]:
        shutil.rmtree(old)


def resume(
    folder: Path,
    job: str,
    model: Qwen3ForCausalLM,
    optimizer: torch.optim.AdamW,
    value_head: nn.Linear | None = None,
) -> Cursor:
    """Restores the newest whole checkpoint of this job; a fresh cursor if there is none."""
    for staging in folder.glob(".staging-*"):
        shutil.rmtree(staging)
    for path in sorted(folder.glob("step-*"), reverse=True):
        if _is_whole(path, job):
            load_weights(model, load_file(path / "model.safetensors"))
            tensors = load_file(path / "optimizer.safetensors")
            torch.set_rng_state(tensors.pop(_RNG))
            restore_optimizer(optimizer, tensors)
            if value_head is not None:
                value_head.load_state_dict(load_file(path / _HEAD))
            return Cursor(**json.loads((path / "state.json").read_bytes()))
    return Cursor()


def _is_whole(path: Path, job: str) -> bool:
    try:
        manifest = json.loads((path / "manifest.json").read_bytes())
        files: dict[str, str] = manifest["files"]
        whole = all(sha256_of_file(path / name) == expected for name, expected in files.items())
        return bool(manifest["job"] == job and whole and files.keys() >= _FILES)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def optimizer_tensors(optimizer: torch.optim.AdamW) -> dict[str, Tensor]:
    """AdamW's moments and counts as `<index of the parameter>.<name>`."""
    tensors: dict[str, Tensor] = {}
    for index, state in optimizer.state_dict()["state"].items():
        tensors |= {f"{index}.{name}": value for name, value in state.items()}
    return tensors


def restore_optimizer(optimizer: torch.optim.AdamW, tensors: dict[str, Tensor]) -> None:
    """Takes over moments and counts; learning rate and weight decay stay the optimizer's own."""
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        index, name = key.split(".", 1)
        state.setdefault(int(index), {})[name] = value
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
