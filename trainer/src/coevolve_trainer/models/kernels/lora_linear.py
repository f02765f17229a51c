"""Linear layers of one input computed together, with the low-rank adapters beside frozen ones.

What peft's layers give, with less of what a CPU spends most time on after the large products: passes over
whole activations. An adapter's share is added within its product, and so are the gradients of one input.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

PLAIN = "default"
"""Name of the one adapter that a layer may have to be computed here."""


def linear_together(layers: Sequence[nn.Module], x: Tensor) -> list[Tensor]:
    """What each of the layers gives for x: [..., D_i] of [..., D].

    Layers with one plain adapter over frozen weights are computed here, in the type of autocast or else of
    x; if any is something else, all are called.
    """
    if not all(_is_adapted(layer) for layer in layers):
        return [layer(x) for layer in layers]
    found: list[list[Any]] = [[], [], [], []]
    scales = []
    for layer in layers:
        made: Any = layer
        base = made.base_layer
        parts = (base.weight, base.bias, made.lora_A[PLAIN].weight, made.lora_B[PLAIN].weight)
        for column, part in zip(found, parts, strict=True):
            column.append(part)
        scales.append(float(made.scaling[PLAIN]))
    outputs: tuple[Tensor, ...] = _Adapted.apply(x, scales, *(part for column in found for part in column))  # type: ignore[no-untyped-call]
    return list(outputs)


def _is_adapted(layer: Any) -> bool:
    """Whether it is one of peft's linear layers that does no more than add one adapter's product."""
    if not hasattr(layer, "lora_A") or type(layer.base_layer) is not nn.Linear:
        return False
    if layer.disable_adapters or layer.merged or layer.active_adapters != [PLAIN] or layer.lora_variant:
        return False
    dropout = layer.lora_dropout[PLAIN]
    frozen = not any(parameter.requires_grad for parameter in layer.base_layer.parameters())
    bare = layer.lora_A[PLAIN].bias is None and layer.lora_B[PLAIN].bias is None
    return frozen and bare and (isinstance(dropout, nn.Identity) or not layer.training or dropout.p == 0)


class _Adapted(torch.autograd.Function):
    """y_i = x W_i^T + c_i + s_i (x A_i^T) B_i^T of [N, D]; the inner products x A^T are one."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, scales: list[float], *weights: Tensor | None) -> tuple[Tensor, ...]:
        dtype, device = x.dtype, x.device.type
        if torch.is_autocast_enabled(device):
            dtype = torch.get_autocast_dtype(device)
        flat = x.flatten(0, -2).to(dtype)
        base, bias, down, up = _columns(weights, dtype)
        edges = [0, *torch.tensor([len(a) for a in down]).cumsum(0).tolist()]
        inner = torch.mm(flat, torch.cat(down).T)
        outputs = []
        for i, (weight, scale) in enumerate(zip(base, scales, strict=True)):
            found = torch.mm(flat, weight.T) if bias[i] is None else torch.addmm(bias[i], flat, weight.T)
            found.addmm_(inner[:, edges[i] : edges[i + 1]], up[i].T, alpha=scale)
            outputs.append(found.view(*x.shape[:-1], -1))
        ctx.save_for_backward(flat, inner, *weights)
        ctx.scales, ctx.edges, ctx.shape, ctx.dtype = scales, edges, x.shape, x.dtype
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        flat, inner, *weights = ctx.saved_tensors
        base, _, down, up = _columns(weights, flat.dtype)
        slopes = [grad.flatten(0, -2).to(flat.dtype) for grad in grads]
        to_inner = torch.empty_like(inner)
        to_up = []
        for i, (start, end) in enumerate(pairwise(ctx.edges)):
            torch.mul(torch.mm(slopes[i], up[i]), ctx.scales[i], out=to_inner[:, start:end])
            product = torch.mm(inner[:, start:end].T, slopes[i])
            to_up.append(product.T.float().mul_(ctx.scales[i]))
        to_down = torch.split(torch.mm(to_inner.T, flat).float(), [len(a) for a in down])
        to_x = None
        if ctx.needs_input_grad[0]:
            to_x = torch.mm(to_inner, torch.cat(down))
            for slope, weight in zip(slopes, base, strict=True):
                to_x.addmm_(slope, weight)
            to_x = to_x.view(ctx.shape).to(ctx.dtype)
        nothing = [None] * len(base)
        return (to_x, None, *nothing, *nothing, *to_down, *to_up)


def _columns(weights: Sequence[Any], dtype: torch.dtype) -> list[list[Any]]:
    """Of all layers the weights [D_i, D], the biases, and the adapters' [R, D] and [D_i, R]."""
    count = len(weights) // 4
    used = [None if weight is None else weight.to(dtype) for weight in weights]
    return [used[at : at + count] for at in range(0, len(used), count)]
