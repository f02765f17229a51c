"""What an update minimises: from a batch of examples to one loss and the numbers worth watching."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ..data.dataset import Example
from ..data.packed_batch import Rows
from ..data.packing import Packing
from ..losses.preference import dpo_loss, sft_loss, target_loss
from ..settings import DpoSettings, TargetSettings
from .objective import Scorer, Share


@dataclass(frozen=True)
class SftPart:
    rows: Rows
    weight: Tensor  # [A] what each action token counts in the update's mean


class SftObjective:
    """Eq. 5: the weighted mean over the action tokens of an update's demonstrations."""

    def __init__(self, examples: Sequence[Example], packing: Packing) -> None:
        self.examples, self.packing = examples, packing

    def parts(self, batch: Sequence[int], max_tokens: int) -> list[SftPart]:
        """`batch` holds indices of examples."""
        chosen = [self.examples[i] for i in batch]
        total = max(1.0, sum(e.lambda_sft * _action_tokens(e) for e in chosen))
        plan = self.packing.plan([e.chosen for e in chosen], max_tokens)
        return [self._part([chosen[place] for place in places], total, max_tokens) for places in plan]

    def share(self, scorer: Scorer, part: SftPart) -> Share:
        logp = scorer(part.rows).logp
        return Share(sft_loss(logp, part.weight.to(logp.device)), {})

    def _part(self, examples: list[Example], total: float, max_tokens: int) -> SftPart:
        rows = self.packing.rows([e.chosen for e in examples], max_tokens)
        weight = torch.tensor([e.lambda_sft for e in examples]) / total
        return SftPart(rows, weight[rows.owner])


@dataclass(frozen=True)
class PairPart:
    """Chosen sides of some examples, then the rejected sides of those that have one."""

    rows: Rows
    pairs: Tensor  # [K] which of the E examples are pairs
    reference: Tensor  # [2, K] nats: chosen and rejected under the reference
    lambdas: Tensor  # [2, E] lambda_dpo and lambda_sft, each divided by the size of the update


class PairObjective:
    """Eq. 7 (dpo) or Eq. 9 (target), the mean over an update. `reference` is [N, 2] nats.

    A pair's two sides are in one part. `dpo` is Eq. 7 for every pair and reads no lambda. In `target` a
    demonstration, which has no rejected side, gives Eq. 9's second term alone.
    """

    def __init__(
        self, examples: Sequence[Example], packing: Packing, reference: Tensor, settings: DpoSettings
    ) -> None:
        self.examples, self.packing, self.reference, self.settings = examples, packing, reference, settings

    def parts(self, batch: Sequence[int], max_tokens: int) -> list[PairPart]:
        """`batch` holds indices of examples."""
        both = [[*self.examples[i].chosen, *self.examples[i].rejected] for i in batch]
        plan = self.packing.plan(both, max_tokens)
        return [self._part([batch[place] for place in places], len(batch), max_tokens) for places in plan]

    def share(self, scorer: Scorer, part: PairPart) -> Share:
        logp = scorer(part.rows).logp
        part = PairPart(part.rows, *(t.to(logp.device) for t in (part.pairs, part.reference, part.lambdas)))
        owner, counts = part.rows.owner.to(logp.device), part.rows.counts.to(logp.device)
        sums = torch.zeros_like(counts).index_add(0, owner, logp)
        chosen, rejected = sums[: part.lambdas.shape[1]], sums[part.lambdas.shape[1] :]
        dpo = dpo_loss(chosen[part.pairs], rejected, *part.reference, beta=self.settings.beta)
        if isinstance(self.settings, TargetSettings):
            nll = -chosen if self.settings.sft_reduction == "sum" else -chosen / counts[: len(chosen)]
            ranked = torch.zeros_like(chosen).index_put((part.pairs,), dpo.loss)
            loss = target_loss(ranked, nll, *part.lambdas).sum()
        else:
            loss = (part.lambdas[0, part.pairs] * dpo.loss).sum()
        return Share(loss, _sums(dpo.margin, chosen[part.pairs], rejected))

    def _part(self, batch: list[int], size: int, max_tokens: int) -> PairPart:
        examples = [self.examples[i] for i in batch]
        pairs = [place for place, example in enumerate(examples) if example.rejected]
        sides = [e.chosen for e in examples] + [examples[place].rejected for place in pairs]
        weighed = isinstance(self.settings, TargetSettings)
        lambdas = [(e.lambda_dpo, e.lambda_sft) if weighed else (1.0, 0.0) for e in examples]
        return PairPart(
            rows=self.packing.rows(sides, max_tokens),
            pairs=torch.tensor(pairs, dtype=torch.long),
            reference=self.reference[[batch[place] for place in pairs]].T,
            lambdas=torch.tensor(lambdas).T / size,
        )


def _action_tokens(example: Example) -> int:
    return sum(sum(segment.action_mask[1:]) for segment in example.chosen)


def _sums(margin: Tensor, chosen: Tensor, rejected: Tensor) -> dict[str, tuple[float, float]]:
    """Sums over the part's pairs; nothing where it has none."""
    if not len(margin):
        return {}
    watched = {
        "margin": margin,
        "accuracy": (margin > 0).float(),
        "chosen_logp": chosen,
        "rejected_logp": rejected,
    }
    totals = torch.stack([values.detach().sum() for values in watched.values()]).tolist()
    return {name: (total, len(margin)) for name, total in zip(watched, totals, strict=True)}
