"""One update of reinforcement learning from one batch of rollouts, in parts that fit into memory."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..data.packed_batch import Rows
from ..data.packing import Packing
from ..data.rollout_batch import RolloutBatch
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
from ..process_group import Ranks
from ..settings import PpoSettings, RlSettings
from .objective import Scorer, Share


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
