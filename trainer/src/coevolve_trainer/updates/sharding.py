"""Shards a policy's parameters over the processes of a job, and verifies that all are sharded."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor

from ..failures import bad_input
from ..losses.decoder_passes import decoder_layers
from ..losses.scorer import PolicyScorer
from ..process_group import ProcessGroup


def shard_policy(scorer: PolicyScorer, process_group: ProcessGroup, device: torch.device) -> None:
    """Replaces every parameter by this process's shard: one FSDP unit per layer, and one for the rest.

    The parameters may be on the CPU: each unit moves to `device` and is cut there, so that no GPU ever holds
    the whole model.

    Raises:
        JobFailure: `bad-input` when a parameter is not sharded.
    """
    mesh = init_device_mesh(device.type, (process_group.size,))
    for layer in decoder_layers(scorer.decoder):
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


def as_shard(tensor: Tensor, parameter: Tensor) -> Tensor:
    """Returns a stored shard that belongs to `parameter`, if that is sharded, as a part of a full tensor."""
    if not isinstance(parameter, DTensor) or tensor.shape != parameter.to_local().shape:
        return tensor
    return DTensor.from_local(
        tensor.to(parameter.device),
        parameter.device_mesh,
        parameter.placements,
        run_check=False,
        shape=parameter.shape,
        stride=parameter.stride(),
    )
