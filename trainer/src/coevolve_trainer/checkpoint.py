"""Checkpoints from which a killed job goes on to bit-equal weights.

A checkpoint is staged, synced, closed by a manifest of hashes and renamed. One that a crash tore has no
manifest that verifies, and is passed over.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from safetensors.torch import load_file, save
from torch import Tensor

from .durable import canonical_json, fresh_directory, publish_directory, sha256_of_file, write_synced
from .model import load_weights, weights_of

if TYPE_CHECKING:
    from transformers.models.qwen3.modeling_qwen3 import Qwen3ForCausalLM

KEPT = 2  # the newest, and one more should the newest be damaged
_FILES = ("model.safetensors", "optimizer.safetensors", "state.json")


@dataclass
class Cursor:
    """Where a run stands. Schedule and data order are functions of the update, so this is all of both."""

    step: int = 0  # updates done
    tokens: int = 0  # trained on so far, without padding
    seconds: float = 0.0


def save_checkpoint(
    folder: Path, job: str, model: Qwen3ForCausalLM, optimizer: torch.optim.AdamW, cursor: Cursor
) -> None:
    """Adds `step-NNNNNN` under `folder` and removes all but the newest few. `job` is the job's identity."""
    staging = fresh_directory(folder / f".staging-{cursor.step:06d}")
    write_synced(staging / "model.safetensors", save(weights_of(model)))
    write_synced(staging / "optimizer.safetensors", save(_optimizer_tensors(optimizer)))
    write_synced(staging / "state.json", canonical_json(vars(cursor)))
    hashes = {name: sha256_of_file(staging / name) for name in _FILES}
    write_synced(staging / "manifest.json", canonical_json({"job": job, "files": hashes}))
    final = folder / f"step-{cursor.step:06d}"
    shutil.rmtree(final, ignore_errors=True)  # a damaged one of the same step
    publish_directory(staging, final)
    for old in sorted(folder.glob("step-*"))[:-KEPT]:
        shutil.rmtree(old)


def resume(folder: Path, job: str, model: Qwen3ForCausalLM, optimizer: torch.optim.AdamW) -> Cursor:
    """Restores the newest whole checkpoint of this job; a fresh cursor if there is none."""
    for staging in folder.glob(".staging-*"):
        shutil.rmtree(staging)
    for path in sorted(folder.glob("step-*"), reverse=True):
        if _is_whole(path, job):
            load_weights(model, load_file(path / "model.safetensors"))
            _restore_optimizer(optimizer, load_file(path / "optimizer.safetensors"))
            return Cursor(**json.loads((path / "state.json").read_bytes()))
    return Cursor()


def _is_whole(path: Path, job: str) -> bool:
    try:
        manifest = json.loads((path / "manifest.json").read_bytes())
        return manifest["job"] == job and all(
            sha256_of_file(path / name) == manifest["files"][name] for name in _FILES
        )
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _optimizer_tensors(optimizer: torch.optim.AdamW) -> dict[str, Tensor]:
    tensors = {"torch_rng": torch.get_rng_state()}
    for index, state in optimizer.state_dict()["state"].items():
        tensors |= {f"{index}.{name}": value for name, value in state.items()}
    return tensors


def _restore_optimizer(optimizer: torch.optim.AdamW, tensors: dict[str, Tensor]) -> None:
    torch.set_rng_state(tensors.pop("torch_rng"))
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        index, name = key.split(".", 1)
        state.setdefault(int(index), {})[name] = value
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
