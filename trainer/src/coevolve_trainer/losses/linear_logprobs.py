"""Log-probabilities computed from hidden states; logits exist only for one chunk of predictions at a time."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

KEPT_LOGITS = 2**24
"""Max logits that are kept for the backward pass on a CPU; with more, the size of a chunk."""
CHUNK_LOGITS = 3 * 2**21
"""Logits per chunk of a frozen head on a CPU: 24 MiB. From 32 MiB on, glibc would map new pages for every
chunk."""
CUDA_LOGITS = 2**27
"""Both on a GPU: 512 MiB of float32. Chunks for a CPU would have 41 rows with Qwen3's 152,000 tokens, a GPU's
have 883. Not a share of the free memory, on which the order of sums, and so the last bits, would depend."""


def linear_logprobs(states: Tensor, weight: Tensor, bias: Tensor | None, ids: Tensor) -> Tensor:
    """Returns log softmax(states W^T + b) at `ids`: [P] nats in float32, from [P, D], [V, D], [V] and [P].

    Products are computed in the type of `states`, the softmax in float32. A limited number of logits is kept;
    beyond that the backward pass computes them again, chunk by chunk, so that memory does not grow with
    P * V. For a frozen head, the forward pass also computes the gradient of each log-probability by its
    state, and only [P, D] numbers are kept.
    """
    is_frozen = not weight.requires_grad and (bias is None or not bias.requires_grad)
    function: Any = _FrozenLogprobs if is_frozen else _LinearLogprobs
    logprobs: Tensor = function.apply(states, weight, bias, ids)
    return logprobs


class _FrozenLogprobs(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, states: Tensor, weight: Tensor, bias: Tensor | None, ids: Tensor) -> Tensor:
        cast_weight = weight.to(states.dtype)
        logp = torch.empty(len(ids), dtype=torch.float32, device=states.device)
        negative_grad = torch.empty_like(states) if ctx.needs_input_grad[0] else None
        for chunk in _chunks(len(ids), _chunk_size(weight, CHUNK_LOGITS)):
            log_softmax = _logits(states[chunk], cast_weight, bias).log_softmax(1)
            logp[chunk] = log_softmax.gather(1, ids[chunk, None]).squeeze(1)
            if negative_grad is not None:
                # softmax - onehot(id): minus the gradient of logp by the logits
                minus_one = -torch.ones_like(logp[chunk, None])
                residual = log_softmax.exp_().scatter_add_(1, ids[chunk, None], minus_one)
                torch.mm(residual.to(states.dtype), cast_weight, out=negative_grad[chunk])
        ctx.save_for_backward(negative_grad)
        return logp

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        (negative_grad,) = ctx.saved_tensors
        return negative_grad * -grad[:, None], None, None, None


class _LinearLogprobs(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, states: Tensor, weight: Tensor, bias: Tensor | None, ids: Tensor) -> Tensor:
        cast_weight = weight.to(states.dtype)
        ctx.chunk_size = _chunk_size(weight, KEPT_LOGITS)
        logp = torch.empty(len(ids), dtype=torch.float32, device=states.device)
        logsum = torch.empty_like(logp)
        kept = []
        for chunk in _chunks(len(ids), ctx.chunk_size):
            logits = _logits(states[chunk], cast_weight, bias)
            logsum[chunk] = torch.logsumexp(logits, 1)
            logp[chunk] = logits.gather(1, ids[chunk, None]).squeeze(1) - logsum[chunk]
            if len(ids) <= ctx.chunk_size:
                kept.append(logits)
        ctx.save_for_backward(states, weight, bias, ids, logsum, *kept)
        return logp

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """d logp_i / d logits_i = onehot(id_i) - softmax_i."""
        states, weight, bias, ids, logsum, *kept = ctx.saved_tensors
        cast_weight = weight.to(states.dtype)
        needs_grad = ctx.needs_input_grad
        grad_states = torch.empty_like(states) if needs_grad[0] else None
        grad_weight = torch.zeros_like(cast_weight) if needs_grad[1] else None
        grad_bias = torch.zeros_like(bias) if bias is not None and needs_grad[2] else None
        for chunk in _chunks(len(ids), ctx.chunk_size):
            logits = kept[0] if kept else _logits(states[chunk], cast_weight, bias)
            grad_logits = torch.sub(logits, logsum[chunk, None]).exp_().mul_(-grad[chunk, None])
            grad_logits.scatter_add_(1, ids[chunk, None], grad[chunk, None])
            if grad_bias is not None:
                grad_bias += grad_logits.sum(0)
            grad_logits = grad_logits.to(states.dtype)
            if grad_states is not None:
                torch.mm(grad_logits, cast_weight, out=grad_states[chunk])
            if grad_weight is not None:
                grad_weight.addmm_(grad_logits.T, states[chunk])
        return grad_states, grad_weight, grad_bias, None


def _chunk_size(weight: Tensor, cpu_logits: int) -> int:
    """Returns the predictions per chunk for a head [V, D]."""
    return max(1, (CUDA_LOGITS if weight.device.type == "cuda" else cpu_logits) // len(weight))


def _chunks(count: int, size: int) -> list[slice]:
    return [slice(start, start + size) for start in range(0, count, size)]


def _logits(states: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    logits = torch.mm(states, weight.T).float()
    return logits if bias is None else logits.add_(bias)
