"""One update of reinforcement learning from one batch of rollouts, in parts that fit into memory."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from ..data.batches import Rows, pad_rows, plan_micro_batches
from ..data.rollouts import RolloutBatch
from ..failures import JobFailure
from ..losses.logprobs import acting_states, token_logprobs
from ..losses.reinforcement import (
    Surrogate,
    clipped_surrogate,
    generalized_advantages,
    kl_to_reference,
    normalised,
    policy_loss,
    token_weights,
    value_loss,
)
from ..settings import PpoSettings, RlSettings
from .learner import Learner

if TYPE_CHECKING:
    from transformers.models.qwen3.modeling_qwen3 import Qwen3ForCausalLM


class Update(NamedTuple):
    loss: float
    metrics: dict[str, float]


@dataclass(frozen=True)
class _Part:
    rows: Rows
    at: Tensor  # [A] which of the batch's N action tokens these are


def make_update(
    learner: Learner, reference: Qwen3ForCausalLM, batch: RolloutBatch, settings: RlSettings, *, pad_id: int
) -> Update:
    """Moves the learner by one step of AdamW; the same batch, learner and settings give the same bits.

    Raises:
        JobFailure: `diverged` when loss or gradient is not finite; nothing has moved then.
    """
    update = accumulate_gradient(learner, reference, batch, settings, pad_id=pad_id)
    norm = torch.nn.utils.clip_grad_norm_(learner.parameters(), settings.max_grad_norm).item()
    if not math.isfinite(update.loss) or not math.isfinite(norm):
        raise JobFailure("diverged", f"loss {update.loss}, gradient norm {norm}")
    learner.optimizer.step()
    learner.optimizer.zero_grad(set_to_none=True)
    return Update(update.loss, {"grad_norm": norm, **update.metrics})


def accumulate_gradient(
    learner: Learner, reference: Qwen3ForCausalLM, batch: RolloutBatch, settings: RlSettings, *, pad_id: int
) -> Update:
    """Leaves the gradient of the whole batch's loss in the learner's parameters; returns the loss in nats.

    Every token's weight is known beforehand, so the parts' losses sum up to the batch's, whatever the parts.
    """
    parts = _parts(batch, settings.micro_batch_tokens, pad_id)
    tokens = len(batch.old_logp)
    reference_logp = _per_token(parts, tokens, lambda rows: _logprobs(reference, rows))
    advantage, target = _advantages(learner, batch, parts, settings)
    weight = token_weights(batch.trajectory, batch.group, settings.aggregation)
    loss, sums = 0.0, defaultdict[str, float](float)
    for rows, at in ((part.rows, part.at) for part in parts):
        states = acting_states(learner.model, rows)
        logp = token_logprobs(learner.model, states, rows)
        clip = {"clip_low": settings.clip_low, "clip_high": settings.clip_high}
        surrogate = clipped_surrogate(logp, batch.old_logp[at], advantage[at], **clip)
        kl = kl_to_reference(logp, reference_logp[at])
        part_loss = policy_loss(surrogate.value, kl, weight[at], kl_coefficient=settings.kl_coefficient)
        for name, seen in _seen(surrogate, kl, (logp - batch.old_logp[at]).abs()).items():
            sums[name] += seen
        if learner.value_head is not None and isinstance(settings, PpoSettings):
            value = learner.value_head(states).squeeze(-1)
            part_loss = part_loss + settings.value_coefficient * value_loss(value, target[at], weight[at])
            sums["value_loss"] += (value.detach() - target[at]).square().sum().item()
        part_loss.backward()  # type: ignore[no-untyped-call]
        loss += part_loss.item()
    means = {name: value / tokens for name, value in sums.items()}
    return Update(loss, {**means, **_described(batch, settings)})


def _advantages(
    learner: Learner, batch: RolloutBatch, parts: list[_Part], settings: RlSettings
) -> tuple[Tensor, Tensor]:
    """Each action token's advantage, and for PPO the return that its value should be; both [N]."""
    head = learner.value_head
    if head is None or not isinstance(settings, PpoSettings):
        return batch.score[batch.trajectory], torch.zeros(0)
    values = _per_token(
        parts, len(batch.old_logp), lambda rows: head(acting_states(learner.model, rows)).squeeze(-1)
    )
    lengths = torch.bincount(batch.trajectory).tolist()
    plain = torch.cat(
        [
            generalized_advantages(trajectory, reward, gamma=settings.gamma, gae_lambda=settings.gae_lambda)
            for trajectory, reward in zip(torch.split(values, lengths), batch.score.tolist(), strict=True)
        ]
    )
    return normalised(plain) if settings.advantages == "normalised" else plain, plain + values


def _parts(batch: RolloutBatch, max_tokens: int, pad_id: int) -> list[_Part]:
    plan = plan_micro_batches([len(segment.input_ids) for segment in batch.segments], max_tokens)
    return [
        _Part(
            rows=pad_rows([[batch.segments[i]] for i in rows], pad_id),
            at=torch.tensor([token for i in rows for token in batch.places[i]]),
        )
        for rows in plan
    ]


@torch.no_grad()
def _per_token(parts: list[_Part], tokens: int, compute: Callable[[Rows], Tensor]) -> Tensor:
    """[N] what `compute` gives for each part's action tokens, [A]; a constant of the update."""
    found = torch.empty(tokens)
    for part in parts:
        found[part.at] = compute(part.rows)
    return found


def _logprobs(model: Qwen3ForCausalLM, rows: Rows) -> Tensor:
    return token_logprobs(model, acting_states(model, rows), rows)


def _seen(surrogate: Surrogate, kl: Tensor, gap: Tensor) -> dict[str, float]:
    """Sums over a part's action tokens.

    `logp_gap` is |old_logp - logp| before the update: some 1e-4 when the server and the trainer agree about
    the policy that sampled, and more when the rollouts are another policy's.
    """
    watched = {
        "ratio": surrogate.ratio,
        "clipped_low": surrogate.clipped_low,
        "clipped_high": surrogate.clipped_high,
        "kl": kl.detach(),
        "logp_gap": gap.detach(),
    }
    return {name: values.double().sum().item() for name, values in watched.items()}


def _described(batch: RolloutBatch, settings: RlSettings) -> dict[str, float]:
    groups = int(batch.group.max()) + 1
    counts = {"trajectories": len(batch.score), "groups": groups, "segments": len(batch.segments)}
    described: dict[str, float] = {
        **counts,
        "truncated": batch.truncated,
        "action_tokens": len(batch.old_logp),
    }
    if isinstance(settings, PpoSettings):
        return {**described, "reward": batch.score.mean().item()}
    training = (
        torch.zeros(groups).index_add(0, batch.group, (batch.score != 0).float()).count_nonzero().item()
    )
    return {**described, "zero_advantage_groups": 1 - training / groups}
