"""The input of each forward pass: a map-style dataset whose items are whole micro-batches.

Their tensors are made from the token rows of our own encoder.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from ..chat.encoder import Segment
from ..data.dataset import Example, action_count, total_weight
from ..settings import TargetSettings, TrainSettings
from .micro_batches import MicroBatch, Plan

Inputs = dict[str, Any]
IGNORED = -100  # torch's label without a loss


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


def filler(pad_id: int) -> Example:
    """Returns an example without an action: a pass whose loss and gradient are 0."""
    row = Segment([pad_id, pad_id], [0, 0])
    return Example([row], [row], 0.0, 0.0)


def labeled_rows(examples: Sequence[Example]) -> list[dict[str, list[int]]]:
    """Returns the demonstrations' rows for SFTTrainer's own collator."""
    rows = [segment for example in examples for segment in example.chosen]
    return [{"input_ids": row.input_ids, "labels": _labels(row)} for row in rows]


def weighted_rows(examples: Sequence[Example], total: float, pad_id: int) -> dict[str, Tensor]:
    """Returns demonstrations with the weight of each token in the mean of an update, whose weights sum to 1.

    `total` is the sum of the weights of the update's action tokens.
    """
    rows = [segment for example in examples for segment in example.chosen]
    weights = [example.lambda_sft / total for example in examples for _ in example.chosen]
    return {
        **padded_rows(rows, pad_id),
        "labels": _padded([_labels(row) for row in rows], IGNORED),
        "weights": torch.tensor(weights),
    }


def padded_rows(rows: Sequence[Segment], pad_id: int) -> dict[str, Tensor]:
    return {
        "input_ids": _padded([row.input_ids for row in rows], pad_id),
        "attention_mask": _padded([[1] * len(row.input_ids) for row in rows], 0),
    }


def preference_rows(examples: Sequence[Example], pad_id: int) -> dict[str, Tensor]:
    """Returns chosen rows, then rejected ones, as DPOTrainer's collator does; the mask has actions only."""
    rows = [row for e in examples for row in e.chosen] + [row for e in examples for row in e.rejected]
    return {**padded_rows(rows, pad_id), "completion_mask": _padded([_acts(row) for row in rows], 0)}


def row_owners(examples: Sequence[Example]) -> Tensor:
    """Returns the trajectory of each of `preference_rows`: the chosen sides first, then the rejected ones."""
    sides = [e.chosen for e in examples] + [e.rejected for e in examples if e.rejected]
    return torch.tensor([index for index, side in enumerate(sides) for _ in side])


def _labels(row: Segment) -> list[int]:
    return [token if acts else IGNORED for token, acts in zip(row.input_ids, row.action_mask, strict=True)]


def _acts(row: Segment) -> list[int]:
    return [0, *row.action_mask[1:]]


def _padded(rows: Sequence[Sequence[Any]], value: Any) -> Tensor:
    width = max(map(len, rows))
    return torch.tensor([[*row, *[value] * (width - len(row))] for row in rows])
