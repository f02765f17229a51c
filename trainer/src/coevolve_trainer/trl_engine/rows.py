"""Tensors of a micro-batch, from the token rows of our own encoder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ..chat.encoder import Segment
from ..data.dataset import Example

IGNORED = -100  # torch's label without a loss


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
