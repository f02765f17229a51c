"""The objectives over a dataset: supervised fine-tuning (Eq. 5) and preference pairs (Eq. 7 and 9)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ..data.dataset import Example, total_weight
from ..data.packed_batch import PackedBatch
from ..data.packing import Packing
from ..losses.preference import dpo_loss, sft_loss, target_loss
from ..settings import DpoSettings, TargetSettings
from .objective import MicroBatchLoss, Scorer


@dataclass(frozen=True)
class SftMicroBatch:
    packed: PackedBatch
    weight: Tensor  # [A] weight of each action token in the update's mean


class SftObjective:
    """Eq. 5: the weighted mean over the action tokens of an update's demonstrations."""

    def __init__(self, examples: Sequence[Example], packing: Packing) -> None:
        self.examples, self.packing = examples, packing

    def split(self, batch: Sequence[int], max_tokens: int) -> list[SftMicroBatch]:
        """`batch` holds indices of examples."""
        examples = [self.examples[i] for i in batch]
        total = total_weight(examples)
        plan = self.packing.plan([e.chosen for e in examples], max_tokens)
        return [self._pack([examples[index] for index in indices], total, max_tokens) for indices in plan]

    def loss(self, scorer: Scorer, micro_batch: SftMicroBatch) -> MicroBatchLoss:
        logp = scorer(micro_batch.packed).logp
        return MicroBatchLoss(sft_loss(logp, micro_batch.weight.to(logp.device)), {}, {})

    def _pack(self, examples: list[Example], total: float, max_tokens: int) -> SftMicroBatch:
        packed = self.packing.pack([e.chosen for e in examples], max_tokens)
        weight = torch.tensor([e.lambda_sft for e in examples]) / total
        return SftMicroBatch(packed, weight[packed.trajectory_index])


@dataclass(frozen=True)
class PairMicroBatch:
    """The chosen sides of E examples, followed by the rejected sides of the K pairs among them."""

    packed: PackedBatch
    pairs: Tensor  # [K] indices of the pairs among the E examples
    reference: Tensor  # [2, K] nats: chosen and rejected under the reference
    lambdas: Tensor  # [2, E] lambda_dpo and lambda_sft, each divided by the size of the update


class PairObjective:
    """Eq. 7 (dpo) or Eq. 9 (target), the mean over an update. `reference` is [N, 2] nats.

    Both sides of a pair are in one micro-batch. `dpo` is Eq. 7 for every pair and ignores the lambdas. In
    `target` a demonstration, which has no rejected side, contributes only the second term of Eq. 9.
    """

    def __init__(
        self, examples: Sequence[Example], packing: Packing, reference: Tensor, settings: DpoSettings
    ) -> None:
        self.examples, self.packing, self.reference, self.settings = examples, packing, reference, settings

    def split(self, batch: Sequence[int], max_tokens: int) -> list[PairMicroBatch]:
        """`batch` holds indices of examples."""
        both_sides = [[*self.examples[i].chosen, *self.examples[i].rejected] for i in batch]
        plan = self.packing.plan(both_sides, max_tokens)
        return [self._pack([batch[index] for index in indices], len(batch), max_tokens) for indices in plan]

    def loss(self, scorer: Scorer, micro_batch: PairMicroBatch) -> MicroBatchLoss:
        logp, packed = scorer(micro_batch.packed).logp, micro_batch.packed
        pairs, reference, lambdas, trajectory_index, action_counts = (
            tensor.to(logp.device)
            for tensor in (
                micro_batch.pairs,
                micro_batch.reference,
                micro_batch.lambdas,
                packed.trajectory_index,
                packed.action_counts,
            )
        )
        sums = torch.zeros_like(action_counts).index_add(0, trajectory_index, logp)
        chosen, rejected = sums[: lambdas.shape[1]], sums[lambdas.shape[1] :]
        dpo = dpo_loss(chosen[pairs], rejected, *reference, beta=self.settings.beta)
        if isinstance(self.settings, TargetSettings):
            use_sum = self.settings.sft_reduction == "sum"
            nll = -chosen if use_sum else -chosen / action_counts[: len(chosen)]
            dpo_by_example = torch.zeros_like(chosen).index_put((pairs,), dpo.loss)
            loss = target_loss(dpo_by_example, nll, *lambdas).sum()
        else:
            loss = (lambdas[0, pairs] * dpo.loss).sum()
        return MicroBatchLoss(loss, _metric_sums(dpo.margin, chosen[pairs], rejected), {})

    def _pack(self, batch: list[int], size: int, max_tokens: int) -> PairMicroBatch:
        examples = [self.examples[i] for i in batch]
        pairs = [index for index, example in enumerate(examples) if example.rejected]
        sides = [e.chosen for e in examples] + [examples[index].rejected for index in pairs]
        uses_lambdas = isinstance(self.settings, TargetSettings)
        lambdas = [(e.lambda_dpo, e.lambda_sft) if uses_lambdas else (1.0, 0.0) for e in examples]
        return PairMicroBatch(
            packed=self.packing.pack(sides, max_tokens),
            pairs=torch.tensor(pairs, dtype=torch.long),
            reference=self.reference[[batch[index] for index in pairs]].T,
            lambdas=torch.tensor(lambdas).T / size,
        )


def _metric_sums(margin: Tensor, chosen: Tensor, rejected: Tensor) -> dict[str, tuple[float, float]]:
    """Returns sums over the micro-batch's pairs; empty when it has none."""
    if not len(margin):
        return {}
    metrics = {
        "margin": margin,
        "accuracy": (margin > 0).float(),
        "chosen_logp": chosen,
        "rejected_logp": rejected,
    }
    totals = torch.stack([values.detach().sum() for values in metrics.values()]).tolist()
    return {name: (total, len(margin)) for name, total in zip(metrics, totals, strict=True)}
