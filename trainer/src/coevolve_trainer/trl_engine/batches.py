"""The input of each forward pass: a map-style dataset whose items are whole micro-batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from ..data.dataset import action_count, total_weight
from ..settings import TargetSettings, TrainSettings
from .micro_batches import MicroBatch, Plan
from .rows import filler, labeled_rows, preference_rows, row_owners, weighted_rows

Inputs = dict[str, Any]


class Batches(torch.utils.data.Dataset[Inputs]):
    """One process's micro-batches in order; `build` makes the tensors from a micro-batch's examples."""

    def __init__(self, micro_batches: Sequence[MicroBatch], build: Callable[[MicroBatch], Inputs]) -> None:
        self.micro_batches, self.build = micro_batches, build

    def __len__(self) -> int:
        return len(self.micro_batches)

    def __getitem__(self, index: int) -> Inputs:
        return self.build(self.micro_batches[index])


class DemonstrationBuilder:
    """Builds inputs of SFTTrainer; with weights only if the demonstrations differ in theirs."""

    def __init__(self, plan: Plan, pad_id: int, collate: Any) -> None:
        self._examples, self._pad_id, self._collate = plan.examples, pad_id, collate
        self._filler = filler(pad_id)
        self.is_weighted = any(example.lambda_sft != 1 for example in plan.examples)
        self._totals = [total_weight(plan.examples[i] for i in update) for update in plan.updates]

    def __call__(self, micro_batch: MicroBatch) -> Inputs:
        examples = [self._examples[i] for i in micro_batch.examples] or [self._filler]
        if self.is_weighted:
            return weighted_rows(examples, self._totals[micro_batch.update], self._pad_id)
        inputs: Inputs = self._collate(labeled_rows(examples))
        return inputs


class PairBuilder:
    """Builds inputs of DPOTrainer, or of the target loss.

    `reference` is [N, 2] nats. A micro-batch contributes its share of the update's mean, times the number of
    processes, over which accelerate averages gradients.
    """

    reference: Tensor

    def __init__(self, plan: Plan, pad_id: int, settings: TrainSettings) -> None:
        self._plan, self._examples, self._pad_id = plan, plan.examples, pad_id
        self._processes = settings.processes
        self._filler = filler(pad_id)
        self._uses_lambdas = isinstance(settings, TargetSettings)

    def rows(self, indices: Sequence[int]) -> Inputs:
        """Returns both sides of pairs for the reference policy."""
        return preference_rows([self._examples[i] for i in indices], self._pad_id)

    def __call__(self, micro_batch: MicroBatch) -> Inputs:
        indices = list(micro_batch.examples)
        examples = [self._examples[i] for i in indices] or [self._filler]
        pairs = [index for index, example in enumerate(examples) if example.rejected] if indices else []
        reference = self.reference[indices] if indices else torch.zeros(1, 2)
        weight = self._processes / len(self._plan.updates[micro_batch.update])
        inputs = preference_rows(examples, self._pad_id)
        lambdas = [(e.lambda_dpo, e.lambda_sft) if self._uses_lambdas else (1.0, 0.0) for e in examples]
        return inputs | {
            "owners": row_owners(examples),
            "pairs": torch.tensor(pairs, dtype=torch.long),
            "reference": reference[pairs].T,
            "lambdas": torch.tensor(lambdas).T * weight * bool(indices),
            "action_counts": torch.tensor([max(1, action_count(e.chosen)) for e in examples]),
        }
