"""Linear layers with the same input computed together, including the LoRA adapters of frozen layers.

Equal to peft's layers, but with fewer passes over whole activations, which on a CPU cost most after the large
products: an adapter's product is added within the layer's product, and so are the gradients of the input.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

ADAPTER_NAME = "default"
"""Name of the only adapter that a layer may have to be computed here."""


def fused_linears(layers: Sequence[nn.Module], x: Tensor) -> list[Tensor]:
    """Returns each layer's output for x: [..., D_i] of [..., D].

    If all layers have one plain adapter over frozen weights, they are computed here, in the type of autocast
    or else of x; otherwise every layer is called.
    """
    if not all(_has_plain_adapter(layer) for layer in layers):
        return [layer(x) for layer in layers]
    columns: list[list[Any]] = [[], [], [], []]
    scales = []
    for layer in layers:
        lora: Any = layer
        base = lora.base_layer
        tensors = (base.weight, base.bias, lora.lora_A[ADAPTER_NAME].weight, lora.lora_B[ADAPTER_NAME].weight)
        for column, tensor in zip(columns, tensors, strict=True):
            column.append(tensor)
        scales.append(float(lora.scaling[ADAPTER_NAME]))
    flat_columns = (tensor for column in columns for tensor in column)
    outputs: tuple[Tensor, ...] = _FusedLora.apply(x, scales, *flat_columns)  # type: ignore[no-untyped-call]
    return list(outputs)


def _has_plain_adapter(layer: Any) -> bool:
    """Returns whether it is a linear layer of peft that only adds one adapter's product."""
    if not hasattr(layer, "lora_A") or type(layer.base_layer) is not nn.Linear:
        return False
    is_default = layer.active_adapters == [ADAPTER_NAME]
    if layer.disable_adapters or layer.merged or not is_default or layer.lora_variant:
        return False
    dropout = layer.lora_dropout[ADAPTER_NAME]
    is_frozen = not any(parameter.requires_grad for parameter in layer.base_layer.parameters())
    has_bias = any(factor[ADAPTER_NAME].bias is not None for factor in (layer.lora_A, layer.lora_B))
    has_dropout = layer.training and not isinstance(dropout, nn.Identity) and dropout.p != 0
    return is_frozen and not has_bias and not has_dropout


class _FusedLora(torch.autograd.Function):
    """y_i = x W_i^T + c_i + s_i (x A_i^T) B_i^T of [N, D]; all x A_i^T are one product."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, scales: list[float], *weights: Tensor | None) -> tuple[Tensor, ...]:
        dtype, device = x.dtype, x.device.type
        if torch.is_autocast_enabled(device):
            dtype = torch.get_autocast_dtype(device)
        flat = x.flatten(0, -2).to(dtype)
        base, bias, down, up = _cast_columns(weights, dtype)
        edges = [0, *torch.tensor([len(a) for a in down]).cumsum(0).tolist()]
        inner = torch.mm(flat, torch.cat(down).T)
        outputs = []
        for i, (weight, scale) in enumerate(zip(base, scales, strict=True)):
            output = torch.mm(flat, weight.T) if bias[i] is None else torch.addmm(bias[i], flat, weight.T)
            output.addmm_(inner[:, edges[i] : edges[i + 1]], up[i].T, alpha=scale)
            outputs.append(output.view(*x.shape[:-1], -1))
        ctx.save_for_backward(flat, inner, *weights)
        ctx.scales, ctx.edges, ctx.shape, ctx.dtype = scales, edges, x.shape, x.dtype
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        flat, inner, *weights = ctx.saved_tensors
        base, _, down, up = _cast_columns(weights, flat.dtype)
        flat_grads = [grad.flatten(0, -2).to(flat.dtype) for grad in grads]
        grad_inner = torch.empty_like(inner)
        grad_up = []
        for i, (start, end) in enumerate(pairwise(ctx.edges)):
            torch.mul(torch.mm(flat_grads[i], up[i]), ctx.scales[i], out=grad_inner[:, start:end])
            product = torch.mm(inner[:, start:end].T, flat_grads[i])
            grad_up.append(product.T.float().mul_(ctx.scales[i]))
        grad_down = torch.split(torch.mm(grad_inner.T, flat).float(), [len(a) for a in down])
        grad_x = None
        if ctx.needs_input_grad[0]:
            grad_x = torch.mm(grad_inner, torch.cat(down))
            for flat_grad, weight in zip(flat_grads, base, strict=True):
                grad_x.addmm_(flat_grad, weight)
            grad_x = grad_x.view(ctx.shape).to(ctx.dtype)
        frozen = [None] * len(base)
        return (grad_x, None, *frozen, *frozen, *grad_down, *grad_up)


def _cast_columns(weights: Sequence[Any], dtype: torch.dtype) -> list[list[Any]]:
    """Returns all layers' weights [D_i, D], biases, and adapters' [R, D] and [D_i, R], in `dtype`."""
    count = len(weights) // 4
    cast = [None if weight is None else weight.to(dtype) for weight in weights]
    return [cast[start : start + count] for start in range(0, len(cast), count)]
