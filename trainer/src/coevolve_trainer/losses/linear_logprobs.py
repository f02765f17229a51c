"""Log-probabilities straight from hidden states: logits exist for one chunk of predictions at a time."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

KEPT_LOGITS = 2**24
"""Softmax probabilities that are kept for the backward pass, and the size of a chunk where they are not."""


def linear_logprobs(states: Tensor, weight: Tensor, bias: Tensor | None, ids: Tensor) -> Tensor:
    """log softmax(states W^T + b) at `ids`: [P] nats in float32, from [P, D], [V, D], [V] and [P].

    Products are computed in the type of `states`, the softmax in float32. Up to 2^24 probabilities are kept;
    beyond that the backward pass computes the logits again, chunk by chunk, so that memory does not grow with
    P * V.
    """
    found: Tensor = _LinearLogprobs.apply(states, weight, bias, ids)  # type: ignore[no-untyped-call]
    return found


class _LinearLogprobs(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, states: Tensor, weight: Tensor, bias: Tensor | None, ids: Tensor) -> Tensor:
        used = weight.to(states.dtype)
        ctx.size = max(1, KEPT_LOGITS // len(weight))
        ctx.kept = len(ids) <= ctx.size
        logp = torch.empty(len(ids), dtype=torch.float32, device=states.device)
        logsum = torch.empty_like(logp)
        logits = states.new_empty(0, dtype=torch.float32)
        for at in range(0, len(ids), ctx.size):
            chunk = slice(at, at + ctx.size)
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
        for at in range(0, len(ids), ctx.size):
            chunk = slice(at, at + ctx.size)
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


def _logits(states: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    logits = torch.mm(states, weight.T).float()
    return logits if bias is None else logits.add_(bias)
