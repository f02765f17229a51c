"""The sums over the updates on one batch of an RL job, which its checkpoints between two updates contain."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from ..data.rollout_batch import RolloutBatch
from ..process_group import add_sums, largest
from ..settings import PpoSettings, RlSettings
from .update import UpdateTotals


@dataclass
class BatchRecord:
    """Every field is plain data, for JSON."""

    updates: int = 0
    skipped: int = 0  # mini-batches without an update, because all of their groups have equal rewards
    loss_sum: float = 0.0
    grad_norm_sum: float = 0.0
    sums: dict[str, tuple[float, float]] = field(default_factory=dict)  # sum and count per metric
    maxima: dict[str, float] = field(default_factory=dict)

    def add(self, totals: UpdateTotals, grad_norm: float) -> None:
        self.updates += 1
        self.loss_sum += totals.loss
        self.grad_norm_sum += grad_norm
        self.sums = add_sums([self.sums, totals.metrics])
        self.maxima = largest([self.maxima, totals.maxima])

    @property
    def done(self) -> int:
        """Mini-batches with an update or without."""
        return self.updates + self.skipped

    @property
    def loss(self) -> float:
        """The mean over the updates; 0 without one."""
        return self.loss_sum / max(1, self.updates)

    def metrics(self, batch: RolloutBatch, settings: RlSettings) -> dict[str, float]:
        """Returns the metrics of the batch: means over all updates, and maxima."""
        means = {name: total / count for name, (total, count) in self.sums.items() if count}
        return {
            **means,
            **self.maxima,
            **batch_metrics(batch, settings),
            "grad_norm": self.grad_norm_sum / max(1, self.updates),
            "updates": self.updates,
            "updates_skipped": self.skipped,
        }


def batch_metrics(batch: RolloutBatch, settings: RlSettings) -> dict[str, float]:
    """Returns the metrics of a batch that do not depend on the policy."""
    groups = int(batch.group.max()) + 1
    metrics: dict[str, float] = {
        "trajectories": len(batch.score),
        "groups": groups,
        "segments": len(batch.segments),
        "actions": batch.truncation.actions,
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
