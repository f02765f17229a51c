"""The sums over the updates on one batch of an RL job, which its checkpoints between two updates contain."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..data.rollout_batch import RolloutBatch
from ..process_group import add_sums, largest
from ..settings import RlSettings
from .rollout_objective import batch_metrics
from .update import UpdateTotals


@dataclass
class BatchRecord:
    """Every field is plain data, for JSON."""

    updates: int = 0
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
    def loss(self) -> float:
        """The mean over the updates."""
        return self.loss_sum / self.updates

    def metrics(self, batch: RolloutBatch, settings: RlSettings) -> dict[str, float]:
        """Returns the metrics of the batch: means over all updates, and maxima."""
        means = {name: total / count for name, (total, count) in self.sums.items() if count}
        return {
            **means,
            **self.maxima,
            **batch_metrics(batch, settings),
            "grad_norm": self.grad_norm_sum / self.updates,
            "updates": self.updates,
        }
