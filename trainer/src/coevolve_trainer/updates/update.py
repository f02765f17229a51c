"""One optimizer update, the same for every method: micro-batches, gradient, clipping, AdamW."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..models.policy import full_tensor
from ..process_group import ProcessGroup, add_sums, largest
from .divergence import DivergenceDetector
from .micro_batch_size import MicroBatchSize
from .objective import B, M, Objective, Scorer
from .train_state import TrainState

_LOSS, _TOKENS, _COMPUTED = "loss", "tokens", "computed"


class UpdateTotals(NamedTuple):
    """Sums over all micro-batches of an update, on all processes."""

    loss: float  # nats
    tokens: int  # in all trajectories; a shared prefix counts in each; without padding
    computed_tokens: int  # tokens that were passed through the model
    metrics: dict[str, tuple[float, float]]  # sum and count
    maxima: dict[str, float]

    def means(self) -> dict[str, float]:
        """Returns the metrics: means, and maxima."""
        means = {name: total / count for name, (total, count) in self.metrics.items() if count}
        return means | self.maxima


def make_update(
    step: int,
    train_state: TrainState,
    objective: Objective[B, M],
    batch: B,
    *,
    micro_batch_size: MicroBatchSize,
    divergence: DivergenceDetector,
    max_grad_norm: float,
) -> tuple[UpdateTotals, float]:
    """Makes one step of AdamW; returns the totals of the micro-batches and the norm of the gradient.

    The same batch and train state give the same bits.

    Raises:
        JobFailure: `diverged`, `out-of-memory`; the train state is then unchanged.
    """
    process_group = train_state.process_group

    def compute_gradient(max_tokens: int) -> UpdateTotals:
        micro_batches = split_batch(objective, batch, max_tokens, process_group)
        return accumulate_gradients(objective, micro_batches, train_state.scorer, process_group)

    totals = micro_batch_size.retry_on_oom(
        compute_gradient,
        count=lambda max_tokens: len(split_batch(objective, batch, max_tokens, process_group)),
        undo=train_state.optimizer.zero_grad,
    )
    parameters = train_state.parameters()
    process_group.all_reduce_gradients(parameters)
    norm = _clip_gradients(parameters, max_grad_norm)
    divergence.check(step, totals.loss, norm)
    train_state.optimizer.step()
    train_state.optimizer.zero_grad(set_to_none=True)
    return totals, norm


def split_batch(
    objective: Objective[B, M], batch: B, max_tokens: int, process_group: ProcessGroup
) -> Sequence[M]:
    """Splits a batch into micro-batches: if possible, at least one per process."""
    micro_batches = objective.split(batch, max_tokens)
    while len(micro_batches) < process_group.size and max_tokens > 1:
        max_tokens //= 2
        micro_batches = objective.split(batch, max_tokens)
    return micro_batches


def accumulate_gradients(
    objective: Objective[Any, M], micro_batches: Sequence[M], scorer: Scorer, process_group: ProcessGroup
) -> UpdateTotals:
    """Adds the loss gradient of this process's micro-batches to the parameters; returns the totals of all.

    `process_group.all_reduce_gradients` then sums the gradients of all processes.
    """

    def accumulate_local() -> tuple[dict[str, tuple[float, float]], dict[str, float]]:
        losses, tokens, computed, metric_sums, maxima = [], 0, 0, [], []
        for micro_batch, counts in process_group.local_micro_batches(micro_batches):
            result = objective.loss(scorer, micro_batch)
            loss = result.loss * (process_group.gradient_scale if counts else 0.0)
            loss.backward()  # type: ignore[no-untyped-call]
            if counts:
                losses.append(result.loss.detach())
                tokens += micro_batch.packed.token_count
                computed += micro_batch.packed.input_ids.numel()
                metric_sums.append(result.metric_sums)
                maxima.append(result.maxima)
        # One transfer from the device for all micro-batches
        loss_sum = torch.stack(losses).double().sum().item() if losses else 0.0
        counted = {_LOSS: (loss_sum, 1.0), _TOKENS: (tokens, 1.0), _COMPUTED: (computed, 1.0)}
        return {**counted, **add_sums(metric_sums)}, largest(maxima)

    by_rank = process_group.all_gather(accumulate_local)
    totals = add_sums([sums for sums, _ in by_rank])
    loss, tokens, computed = (totals.pop(name)[0] for name in (_LOSS, _TOKENS, _COMPUTED))
    maxima = largest([maxima for _, maxima in by_rank])
    return UpdateTotals(loss, round(tokens), round(computed), totals, maxima)


def _clip_gradients(parameters: Sequence[torch.nn.Parameter], max_norm: float) -> float:
    """Scales gradients whose norm exceeds `max_norm` down to it; returns the norm before."""
    gradients: list[Tensor] = [p.grad for p in parameters if p.grad is not None]
    norm = full_tensor(torch.nn.utils.get_total_norm(gradients, foreach=True))
    torch.nn.utils.clip_grads_with_norm_(parameters, max_norm, norm, foreach=True)
    return norm.item()
