"""The objective of reinforcement learning over one batch of rollouts: Eq. 1, for PPO with the value loss."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from ..data.mini_batches import select_groups
from ..data.packed_batch import PackedBatch
from ..data.packing import Packing
from ..data.rollout_batch import RolloutBatch
from ..losses.reinforcement import (
    Surrogate,
    clipped_surrogate,
    generalized_advantages,
    importance_weights,
    kl_to_reference,
    normalize_advantages,
    policy_loss,
    token_weights,
    value_loss,
)
from ..process_group import ProcessGroup
from ..settings import PpoSettings, RlSettings
from .objective import MicroBatchLoss, Scorer


@dataclass(frozen=True)
class RolloutMicroBatch:
    """Packed segments of a batch of rollouts, with the inputs of the loss for their A action tokens."""

    packed: PackedBatch
    server_logp: Tensor
    old_logp: Tensor
    importance: Tensor
    reference_logp: Tensor
    advantage: Tensor
    target: Tensor  # PPO: the return that the value head should predict
    weight: Tensor  # weight of the token in the update's mean


@dataclass(frozen=True)
class PreparedRollouts:
    """A batch with the outputs, before its first update, of policy, frozen reference and PPO's value head."""

    batch: RolloutBatch
    old_logp: Tensor  # [N] nats: the server's, or the trainer's own
    reference_logp: Tensor  # [N] nats
    advantage: Tensor  # [N]
    target: Tensor  # [N] PPO's returns; zeros for GRPO

    def columns(self) -> dict[str, list[float]]:
        """Returns the outputs as numbers for JSON, which keeps every bit of a float32."""
        return {name: getattr(self, name).tolist() for name in PREPARED}

    def select(self, groups: list[int]) -> PreparedRollouts:
        """Returns the rollouts of these groups of the batch."""
        batch, tokens = select_groups(self.batch, groups)
        return PreparedRollouts(batch, **{name: getattr(self, name)[tokens] for name in PREPARED})


PREPARED = ("old_logp", "reference_logp", "advantage", "target")


def restore_prepared(batch: RolloutBatch, columns: Mapping[str, list[float]]) -> PreparedRollouts:
    """Returns the rollouts with outputs that `columns()` returned before."""
    return PreparedRollouts(batch, **{name: torch.tensor(columns[name]) for name in PREPARED})


def computes_old_logprobs(settings: RlSettings) -> bool:
    """Returns whether the trainer computes the log-probabilities before the first update itself.

    With one update and no importance weights the server's serve for the ratio, without another pass.
    """
    return settings.epochs * settings.mini_batches > 1 or settings.importance_truncation > 0


def prepare_rollouts(
    batch: RolloutBatch,
    scorer: Scorer,
    reference: Scorer,
    settings: RlSettings,
    process_group: ProcessGroup,
    *,
    packing: Packing,
) -> PreparedRollouts:
    """Makes the passes without gradient that precede an update, divided among the processes."""
    passes = _pack_batch(batch, settings.micro_batch_tokens, packing)
    zeros = torch.zeros(len(batch.old_logp))

    def scatter(results: list[Tensor]) -> Tensor:
        """Puts results of passes at the indices of their action tokens: [N]."""
        scattered = zeros.clone()
        for part, result in zip(passes, results, strict=True):
            scattered[part.token_index] = result.to(zeros.device)
        return scattered

    reference_logp = scatter(process_group.parallel_map(passes, lambda p: reference(p.packed).logp))
    old_logp = batch.old_logp
    if computes_old_logprobs(settings):
        old_logp = scatter(process_group.parallel_map(passes, lambda p: scorer(p.packed).logp))
    if not isinstance(settings, PpoSettings):
        return PreparedRollouts(batch, old_logp, reference_logp, batch.score[batch.trajectory], zeros)

    def values_of(part: _Pass) -> Tensor:
        values = scorer(part.packed).values
        assert values is not None
        return values

    values = scatter(process_group.parallel_map(passes, values_of))
    lengths = torch.bincount(batch.trajectory).tolist()
    plain = torch.cat(
        [
            generalized_advantages(trajectory, reward, gamma=settings.gamma, gae_lambda=settings.gae_lambda)
            for trajectory, reward in zip(torch.split(values, lengths), batch.score.tolist(), strict=True)
        ]
    )
    advantage = normalize_advantages(plain) if settings.advantages == "normalized" else plain
    return PreparedRollouts(batch, old_logp, reference_logp, advantage, plain + values)


class RolloutObjective:
    """Eq. 1 over a prepared batch of rollouts; for PPO with the value loss."""

    def __init__(self, settings: RlSettings, packing: Packing) -> None:
        self.settings, self.packing = settings, packing

    def split(self, batch: PreparedRollouts, max_tokens: int) -> list[RolloutMicroBatch]:
        rollouts, old_logp = batch.batch, batch.old_logp
        weight = token_weights(rollouts.trajectory, rollouts.group, self.settings.aggregation)
        importance = torch.ones_like(old_logp)
        if self.settings.importance_truncation > 0:
            truncation = self.settings.importance_truncation
            importance = importance_weights(old_logp, rollouts.old_logp, truncation)
        columns = [rollouts.old_logp, old_logp, importance]
        columns += [batch.reference_logp, batch.advantage, batch.target, weight]
        return [
            RolloutMicroBatch(part.packed, *(column[part.token_index] for column in columns))
            for part in _pack_batch(rollouts, max_tokens, self.packing)
        ]

    def loss(self, scorer: Scorer, micro_batch: RolloutMicroBatch) -> MicroBatchLoss:
        settings, (logp, values) = self.settings, scorer(micro_batch.packed)
        server_logp, old_logp, importance, reference_logp, advantage, target, weight = (
            column.to(logp.device)
            for column in (
                micro_batch.server_logp,
                micro_batch.old_logp,
                micro_batch.importance,
                micro_batch.reference_logp,
                micro_batch.advantage,
                micro_batch.target,
                micro_batch.weight,
            )
        )
        clip = {"clip_low": settings.clip_low, "clip_high": settings.clip_high}
        surrogate = clipped_surrogate(logp, old_logp, advantage, **clip)
        kl = kl_to_reference(logp, reference_logp)
        value = importance * surrogate.value
        loss = policy_loss(value, kl, weight, kl_coefficient=settings.kl_coefficient)
        before = old_logp if computes_old_logprobs(settings) else logp
        metrics = _token_metrics(surrogate, kl, (before - server_logp).abs())
        # The tokens are drawn from pi_old, for which k3 with the sides exchanged is unbiased
        metrics["kl_old"] = kl_to_reference(old_logp, logp)
        if settings.importance_truncation > 0:
            metrics["importance"] = importance
            metrics["importance_truncated"] = importance >= settings.importance_truncation
        if values is not None and isinstance(settings, PpoSettings):
            loss = loss + settings.value_coefficient * value_loss(values, target, weight)
            metrics["value_loss"] = (values - target).square()
        totals = torch.stack([column.detach().double().sum() for column in metrics.values()]).tolist()
        sums = {name: (float(total), float(len(logp))) for name, total in zip(metrics, totals, strict=True)}
        maxima = {"ratio_max": surrogate.ratio.max().item()}
        return MicroBatchLoss(loss, sums, maxima)


@dataclass(frozen=True)
class _Pass:
    packed: PackedBatch
    token_index: Tensor  # [A] indices of these action tokens among the batch's N


def _pack_batch(batch: RolloutBatch, max_tokens: int, packing: Packing) -> list[_Pass]:
    """Packs segments with a common prefix together: the attempts of a group share their prompt."""
    return [
        _Pass(
            packed=packing.pack([[batch.segments[i]] for i in indices], max_tokens),
            token_index=torch.tensor([token for i in indices for token in batch.token_ranges[i]]),
        )
        for indices in plan_passes(batch, max_tokens, packing)
    ]


def plan_passes(batch: RolloutBatch, max_tokens: int, packing: Packing) -> list[list[int]]:
    """Returns the indices of the rows in each pass of at most `max_tokens`."""
    return packing.plan([[segment] for segment in batch.segments], max_tokens)


def batch_metrics(batch: RolloutBatch, settings: RlSettings) -> dict[str, float]:
    """Returns the metrics of a batch that do not depend on the policy."""
    groups = int(batch.group.max()) + 1
    metrics: dict[str, float] = {
        "trajectories": len(batch.score),
        "groups": groups,
        "segments": len(batch.segments),
        "truncated": batch.truncation.rows_cut,
        "tokens_dropped": batch.truncation.tokens_dropped,
        "actions_dropped": batch.truncation.actions_dropped,
        "rollouts_dropped": batch.truncation.examples_dropped,
        "action_tokens": len(batch.old_logp),
    }
    if isinstance(settings, PpoSettings):
        return {**metrics, "reward": batch.score.mean().item()}
    nonzero_per_group = torch.zeros(groups).index_add(0, batch.group, (batch.score != 0).float())
    return {**metrics, "zero_advantage_groups": 1 - nonzero_per_group.count_nonzero().item() / groups}


def _token_metrics(surrogate: Surrogate, kl: Tensor, gap: Tensor) -> dict[str, Tensor]:
    """`logp_gap` is |server_logp - logp| before the first update: about 1e-4 when server and trainer hold the
    same policy, and more when the rollouts are those of another policy."""
    return {
        "ratio": surrogate.ratio,
        "clipped_low": surrogate.clipped_low,
        "clipped_high": surrogate.clipped_high,
        "kl": kl,
        "logp_gap": gap,
    }
