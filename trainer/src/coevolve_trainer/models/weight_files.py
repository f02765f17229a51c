"""Weight files in the layout of transformers: one safetensors file, or shards with an index."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from safetensors.torch import load_file, save
from torch import Tensor

from ..failures import bad_input
from ..files.atomic_files import canonical_json, write_synced

WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
ADAPTER_WEIGHTS = "adapter_model.safetensors"
SHARD_BYTES = 4 * 2**30  # writing a shard needs its size in memory again


def weight_paths(policy: Path) -> list[Path]:
    """Returns the files with a policy's own weights: its adapter, one file, or its shards in order."""
    for name in (ADAPTER_WEIGHTS, WEIGHTS):
        if (policy / name).is_file():
            return [policy / name]
    if not (policy / INDEX).is_file():
        raise bad_input(f"weights in {policy}", "none", f"{WEIGHTS}, {INDEX} or {ADAPTER_WEIGHTS}")
    index = json.loads((policy / INDEX).read_bytes())
    names = sorted(set(index["weight_map"].values()))
    for name in names:
        if name in ("", "..") or Path(name).name != name:  # a path would lead out of the folder
            raise bad_input(f"{INDEX} in {policy}", f"the shard {name!r}", "names of files beside it")
    return [policy / name for name in names]


def weight_bytes(policy: Path) -> int:
    """Returns the size of a policy's own weights on disk; for an adapter without its base model."""
    return sum(path.stat().st_size for path in weight_paths(policy))


def read_weights(policy: Path) -> dict[str, Tensor]:
    """Returns a policy's own weights by name, in the stored type."""
    return {name: tensor for path in weight_paths(policy) for name, tensor in load_file(path).items()}


def write_weights(folder: Path, weights: Mapping[str, Tensor], *, shard_bytes: int = SHARD_BYTES) -> None:
    """Writes one file, or shards of at most `shard_bytes` (more if a single tensor is larger)."""
    shards = list(_shards(weights, shard_bytes))
    if len(shards) == 1:
        write_synced(folder / WEIGHTS, save(shards[0], metadata={"format": "pt"}))
        return
    weight_map: dict[str, str] = {}
    for number, shard in enumerate(shards, 1):
        name = f"model-{number:05d}-of-{len(shards):05d}.safetensors"
        write_synced(folder / name, save(shard, metadata={"format": "pt"}))
        weight_map |= dict.fromkeys(shard, name)
    total = sum(tensor.nbytes for tensor in weights.values())
    index = {"metadata": {"total_size": total}, "weight_map": weight_map}
    write_synced(folder / INDEX, canonical_json(index))


def _shards(weights: Mapping[str, Tensor], shard_bytes: int) -> Iterator[dict[str, Tensor]]:
    shard: dict[str, Tensor] = {}
    size_bytes = 0
    for name, tensor in weights.items():
        if shard and size_bytes + tensor.nbytes > shard_bytes:
            yield shard
            shard, size_bytes = {}, 0
        shard[name] = tensor
        size_bytes += tensor.nbytes
    yield shard
