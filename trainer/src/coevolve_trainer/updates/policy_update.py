"""One update of reinforcement learning from one batch of rollouts, in parts that fit into memory."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from ..data.batches import Rows as PaddedRows
from ..data.batches import pad_rows, plan_micro_batches
from ..data.packing import Packing
from ..data.rollouts import RolloutBatch
from ..data.rows import Rows
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
from ..ranks import Ranks
from ..settings import PpoSettings, RlSettings
from .learner import Learner
from .objective import Scorer, Share

if TYPE_CHECKING:
    from transformers.models.qwen3.modeling_qwen3 import Qwen3ForCausalLM


class Update(NamedTuple):
    loss: float
    metrics: dict[str, float]


@dataclass(frozen=True)
class _Part:
    rows: PaddedRows
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
def _per_token(parts: list[_Part], tokens: int, compute: Callable[[PaddedRows], Tensor]) -> Tensor:
    """[N] what `compute` gives for each part's action tokens, [A]; a constant of the update."""
    found = torch.empty(tokens)
    for part in parts:
        found[part.at] = compute(part.rows)
    return found


def _logprobs(model: Qwen3ForCausalLM, rows: PaddedRows) -> Tensor:
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


@dataclass(frozen=True)
class RolloutPart:
    """Some rows of a batch of rollouts, with what the loss must know of their A action tokens."""

    rows: Rows
    old_logp: Tensor
    reference_logp: Tensor
    advantage: Tensor
    target: Tensor  # PPO: what the value should be
    weight: Tensor  # what the token counts in the update's mean


@dataclass(frozen=True)
class PreparedRollouts:
    """A batch with what the frozen reference and, for PPO, the value head say of it before the update."""

    batch: RolloutBatch
    reference_logp: Tensor  # [N] nats
    advantage: Tensor  # [N]
    target: Tensor  # [N] PPO's returns; zeros for GRPO


def prepare_rollouts(
    batch: RolloutBatch,
    scorer: Scorer,
    reference: Scorer,
    settings: RlSettings,
    ranks: Ranks,
    *,
    packing: Packing,
) -> PreparedRollouts:
    """The passes without gradient that an update begins with, shared among the processes."""
    parts = _passes(batch, settings.micro_batch_tokens, packing)
    zeros = torch.zeros(len(batch.old_logp))
    reference_logp = zeros.clone()
    for part, logp in zip(parts, ranks.gather(parts, lambda p: reference(p.rows).logp), strict=True):
        reference_logp[part.at] = logp.to(zeros.device)
    if not isinstance(settings, PpoSettings):
        return PreparedRollouts(batch, reference_logp, batch.score[batch.trajectory], zeros)

    def values_of(part: _Pass) -> Tensor:
        values = scorer(part.rows).values
        assert values is not None
        return values

    values = zeros.clone()
    for part, found in zip(parts, ranks.gather(parts, values_of), strict=True):
        values[part.at] = found.to(zeros.device)
    lengths = torch.bincount(batch.trajectory).tolist()
    plain = torch.cat(
        [
            generalized_advantages(trajectory, reward, gamma=settings.gamma, gae_lambda=settings.gae_lambda)
            for trajectory, reward in zip(torch.split(values, lengths), batch.score.tolist(), strict=True)
        ]
    )
    advantage = normalised(plain) if settings.advantages == "normalised" else plain
    return PreparedRollouts(batch, reference_logp, advantage, plain + values)


class RolloutObjective:
    """Eq. 1 over a prepared batch of rollouts; for PPO with the value loss."""

    def __init__(self, settings: RlSettings, packing: Packing) -> None:
        self.settings, self.packing = settings, packing

    def parts(self, batch: PreparedRollouts, max_tokens: int) -> list[RolloutPart]:
        rollouts = batch.batch
        weight = token_weights(rollouts.trajectory, rollouts.group, self.settings.aggregation)
        columns = (rollouts.old_logp, batch.reference_logp, batch.advantage, batch.target, weight)
        return [
            RolloutPart(part.rows, *(column[part.at] for column in columns))
            for part in _passes(rollouts, max_tokens, self.packing)
        ]

    def share(self, scorer: Scorer, part: RolloutPart) -> Share:
        settings, (logp, values) = self.settings, scorer(part.rows)
        columns = (part.old_logp, part.reference_logp, part.advantage, part.target, part.weight)
        old_logp, reference_logp, advantage, target, weight = (c.to(logp.device) for c in columns)
        clip = {"clip_low": settings.clip_low, "clip_high": settings.clip_high}
        surrogate = clipped_surrogate(logp, old_logp, advantage, **clip)
        kl = kl_to_reference(logp, reference_logp)
        loss = policy_loss(surrogate.value, kl, weight, kl_coefficient=settings.kl_coefficient)
        watched = _watched(surrogate, kl, (logp - old_logp).abs())
        if values is not None and isinstance(settings, PpoSettings):
            loss = loss + settings.value_coefficient * value_loss(values, target, weight)
            watched["value_loss"] = (values - target).square()
        totals = torch.stack([found.detach().double().sum() for found in watched.values()]).tolist()
        return Share(loss, {name: (total, len(logp)) for name, total in zip(watched, totals, strict=True)})


@dataclass(frozen=True)
class _Pass:
    rows: Rows
    at: Tensor  # [A] which of the batch's N action tokens these are


def _passes(batch: RolloutBatch, max_tokens: int, packing: Packing) -> list[_Pass]:
    """Rows of one prompt come together: the attempts of a group share it."""
    return [
        _Pass(
            rows=packing.rows([[batch.segments[i]] for i in places], max_tokens),
            at=torch.tensor([token for i in places for token in batch.places[i]]),
        )
        for places in packing.plan([[segment] for segment in batch.segments], max_tokens)
    ]


def described(batch: RolloutBatch, settings: RlSettings) -> dict[str, float]:
    """What a batch is like, told beside the means of the update that it made."""
    return _described(batch, settings)


def _watched(surrogate: Surrogate, kl: Tensor, gap: Tensor) -> dict[str, Tensor]:
    """`logp_gap` is |old_logp - logp|: some 1e-4 when the server and the trainer agree about
    the policy that sampled, and more when the rollouts are another policy's."""
    return {
        "ratio": surrogate.ratio,
        "clipped_low": surrogate.clipped_low,
        "clipped_high": surrogate.clipped_high,
        "kl": kl,
        "logp_gap": gap,
    }
