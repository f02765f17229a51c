"""Shards a policy's parameters over the processes of a job, and verifies that all are sharded."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor

from ..failures import bad_input
from ..losses.scorer import PolicyScorer
from ..process_group import ProcessGroup


def shard_policy(scorer: PolicyScorer, process_group: ProcessGroup) -> None:
    """Replaces every parameter by this process's shard: one FSDP unit per layer, and one for the rest.

    Raises:
        JobFailure: `bad-input` when a parameter is not sharded.
    """
    device = next(scorer.parameters()).device
    mesh = init_device_mesh(device.type, (process_group.size,))
    decoder: Any = scorer.decoder
    for layer in decoder.model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(scorer, mesh=mesh)
    require_sharded(scorer, process_group.size)


def require_sharded(module: nn.Module, processes: int) -> None:
    """Raises `bad-input` unless every parameter is sharded over `processes`: a full copy on each process
    would need that many times the memory, without a warning."""
    unsharded = [
        name
        for name, parameter in module.named_parameters()
        if not isinstance(parameter, DTensor) or parameter.device_mesh.size() != processes
    ]
    if unsharded:
        found = f"{len(unsharded)} parameters not sharded over {processes} processes, first {unsharded[0]}"
        raise bad_input("settings.sharding", found, "a model whose every parameter fsdp can shard")


def shard_like(tensor: Tensor, parameter: Tensor) -> Tensor:
    """Returns this process's shard of a full tensor that belongs to `parameter`, if that is sharded."""
    if not isinstance(parameter, DTensor) or tensor.shape != parameter.shape:
        return tensor
    on_device = tensor.to(parameter.device)
    return distribute_tensor(on_device, parameter.device_mesh, parameter.placements)
