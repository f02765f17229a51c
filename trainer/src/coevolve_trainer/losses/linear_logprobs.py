"""Log-probabilities straight from hidden states: logits exist for one chunk of predictions at a time."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

KEPT_LOGITS = 2**24
"""Softmax probabilities that are kept for the backward pass, and the size of a chunk where they are not."""
CHUNK_LOGITS = 3 * 2**21
"""The size of a chunk of which nothing is kept: 24 MiB. Of more than 32, glibc would ask for fresh pages."""


def linear_logprobs(states: Tensor, weight: Tensor, bias: Tensor | None, ids: Tensor) -> Tensor:
    """log softmax(states W^T + b) at `ids`: [P] nats in float32, from [P, D], [V, D], [V] and [P].

    Products are computed in the type of `states`, the softmax in float32. Up to 2^24 probabilities are kept;
    beyond that the backward pass computes the logits again, chunk by chunk, so that memory does not grow with
    P * V. Of a frozen head, the gradient of each log-probability by its state is computed along with it, and
    only [P, D] are kept.
    """
    frozen = not weight.requires_grad and (bias is None or not bias.requires_grad)
    computed: Any = _FrozenLogprobs if frozen else _LinearLogprobs
    found: Tensor = computed.apply(states, weight, bias, ids)
    return found


class _FrozenLogprobs(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, states: Tensor, weight: Tensor, bias: Tensor | None, ids: Tensor) -> Tensor:
        used = weight.to(states.dtype)
        logp = torch.empty(len(ids), dtype=torch.float32, device=states.device)
        slope = torch.empty_like(states) if ctx.needs_input_grad[0] else None
        for chunk in _chunks(len(ids), max(1, CHUNK_LOGITS // len(weight))):
            logps = _logits(states[chunk], used, bias).log_softmax(-1)
            logp[chunk] = logps.gather(-1, ids[chunk, None]).squeeze(-1)
            if slope is not None:
                # softmax - onehot(id): minus the gradient of logp by the logits
                once = -torch.ones_like(logp[chunk, None])
                residual = logps.exp_().scatter_add_(-1, ids[chunk, None], once)
                torch.mm(residual.to(states.dtype), used, out=slope[chunk])
        ctx.save_for_backward(slope)
        return logp

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        (slope,) = ctx.saved_tensors
        return (slope * -grad[:, None]).to(slope.dtype), None, None, None


class _LinearLogprobs(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, states: Tensor, weight: Tensor, bias: Tensor | None, ids: Tensor) -> Tensor:
        used = weight.to(states.dtype)
        ctx.size = max(1, KEPT_LOGITS // len(weight))
        ctx.kept = len(ids) <= ctx.size
        logp = torch.empty(len(ids), dtype=torch.float32, device=states.device)
        logsum = torch.empty_like(logp)
        logits = states.new_empty(0, dtype=torch.float32)
        for chunk in _chunks(len(ids), ctx.size):
            logits = _logits(states[chunk], used, bias)
            logsum[chunk] = torch.logsumexp(logits, -1)
            logp[chunk] = logits.gather(-1, ids[chunk, None]).squeeze(-1) - logsum[chunk]
        ctx.save_for_backward(states, weight, bias, ids, logsum, logits if ctx.kept else None)
        return logp

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """d logp_i / d logits_i = onehot(id_i) - softmax_i."""
        states, weight, bias, ids, logsum, kept = ctx.saved_tensors
        used = weight.to(states.dtype)
        wanted = ctx.needs_input_grad
        to_states = torch.empty_like(states) if wanted[0] else None
        to_weight = torch.zeros_like(used) if wanted[1] else None
        to_bias = torch.zeros_like(bias) if bias is not None and wanted[2] else None
        for chunk in _chunks(len(ids), ctx.size):
            logits = kept if ctx.kept else _logits(states[chunk], used, bias)
            slope = torch.sub(logits, logsum[chunk, None]).exp_().mul_(-grad[chunk, None])
            slope.scatter_add_(-1, ids[chunk, None], grad[chunk, None])
            if to_bias is not None:
                to_bias += slope.sum(0).to(to_bias.dtype)
            slope = slope.to(states.dtype)
            if to_states is not None:
                torch.mm(slope, used, out=to_states[chunk])
            if to_weight is not None:
                to_weight.addmm_(slope.T, states[chunk])
        return to_states, None if to_weight is None else to_weight.to(weight.dtype), to_bias, None


def _chunks(count: int, size: int) -> list[slice]:
    return [slice(at, at + size) for at in range(0, count, size)]


def _logits(states: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    logits = torch.mm(states, weight.T).float()
    return logits if bias is None else logits.add_(bias)
