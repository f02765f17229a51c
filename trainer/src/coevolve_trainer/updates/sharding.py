"""Cuts a policy's parameters over the processes of a job, and makes sure that they are cut."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor

from ..failures import bad_input
from ..losses.scorer import PolicyScorer
from ..process_group import Ranks


def shard(scorer: PolicyScorer, ranks: Ranks) -> None:
    """Leaves each process its share of every parameter: layer by layer, and what is outside the layers.

    Raises:
        JobFailure: `bad-input` when a parameter is still whole.
    """
    device = next(scorer.parameters()).device
    mesh = init_device_mesh(device.type, (ranks.size,))
    decoder: Any = scorer.decoder
    for layer in decoder.model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(scorer, mesh=mesh)
    require_sharded(scorer, ranks.size)


def require_sharded(module: nn.Module, processes: int) -> None:
    """Raises `bad-input` unless every parameter is cut over `processes`: training whole copies in silence
    would cost as many times the memory and give no warning."""
    whole = [
        name
        for name, parameter in module.named_parameters()
        if not isinstance(parameter, DTensor) or parameter.device_mesh.size() != processes
    ]
    if whole:
        found = f"{len(whole)} parameters not cut over {processes} processes, first {whole[0]}"
        raise bad_input("settings.sharding", found, "a model whose every parameter fsdp can cut")


def whole(tensor: Tensor) -> Tensor:
    """The tensor as one process would hold it. Of a cut tensor: call it on every process."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def cut_like(tensor: Tensor, parameter: Tensor) -> Tensor:
    """This process's share of a whole tensor that belongs to `parameter`, where that one is cut."""
    if not isinstance(parameter, DTensor) or tensor.shape != parameter.shape:
        return tensor
    on_device = tensor.to(parameter.device)
    return distribute_tensor(on_device, parameter.device_mesh, parameter.placements)
