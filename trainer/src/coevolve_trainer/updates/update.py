"""One update, the same for every method: parts, gradient, clipping, AdamW."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ..process_group import Ranks
from .accumulate import Totals, accumulate
from .divergence import Divergence
from .micro_batch_size import Memory
from .objective import B, Objective, P
from .sharding import whole
from .train_state import Learner


def make_update(
    step: int,
    learner: Learner,
    objective: Objective[B, P],
    batch: B,
    *,
    memory: Memory,
    divergence: Divergence,
    max_grad_norm: float,
) -> tuple[Totals, float]:
    """Moves the learner by one step of AdamW; returns what the parts gave and the norm of the gradient.

    The same batch and learner give the same bits.

    Raises:
        JobFailure: `diverged`, `out-of-memory`; nothing has moved then.
    """

    def gradient(max_tokens: int) -> Totals:
        parts = cut(objective, batch, max_tokens, learner.ranks)
        return accumulate(objective, parts, learner.scorer, learner.ranks)

    totals = memory.fit(gradient, undo=learner.optimizer.zero_grad)
    parameters = learner.parameters()
    learner.ranks.reduce_gradients(parameters)
    norm = _clip(parameters, max_grad_norm)
    divergence.check(step, totals.loss, norm)
    learner.optimizer.step()
    learner.optimizer.zero_grad(set_to_none=True)
    return totals, norm


def cut(objective: Objective[B, P], batch: B, max_tokens: int, ranks: Ranks) -> Sequence[P]:
    """The parts of a batch: at least as many as there are processes, where the batch gives as many."""
    parts = objective.parts(batch, max_tokens)
    while len(parts) < ranks.size and max_tokens > 1:
        max_tokens //= 2
        parts = objective.parts(batch, max_tokens)
    return parts


def _clip(parameters: Sequence[torch.nn.Parameter], max_norm: float) -> float:
    """Scales the gradients down to `max_norm` where their norm is above it; returns the norm before."""
    gradients: list[Tensor] = [p.grad for p in parameters if p.grad is not None]
    norm = whole(torch.nn.utils.get_total_norm(gradients, foreach=True))
    torch.nn.utils.clip_grads_with_norm_(parameters, max_norm, norm, foreach=True)
    return norm.item()
