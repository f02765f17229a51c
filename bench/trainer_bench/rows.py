"""The examples as token rows, and their order, which is equal for every trainer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from coevolve_trainer.chat.encoder import ChatEncoder
from coevolve_trainer.data.epoch_batches import plan_epoch
from torch import Tensor

from .request import Request
from .trajectories import Pair

IGNORED = -100


class Row(NamedTuple):
    input_ids: list[int]
    action_mask: list[int]


Example = list[Row]  # the row of a demonstration, or the chosen and the rejected row of a pair


class Padded(NamedTuple):
    input_ids: Tensor  # [R, T]
    attention_mask: Tensor  # [R, T]
    action_mask: Tensor  # [R, T] 1 on action tokens


def encode(pairs: Sequence[Pair], policy: Path, *, method: str, max_length: int) -> list[Example]:
    """Encodes messages with the policy's chat format, as our trainer does."""
    encoder = ChatEncoder.load(policy)
    sides = ("chosen", "rejected") if method == "dpo" else ("chosen",)
    examples: list[Example] = []
    for pair in pairs:
        segments = [encoder.segment(pair[side]) for side in sides]  # type: ignore[arg-type]
        examples.append([Row(s.input_ids[:max_length], s.action_mask[:max_length]) for s in segments])
    return examples


def read_examples(path: Path) -> list[Example]:
    lines = path.read_text().splitlines()
    return [[Row(*row) for row in json.loads(line)] for line in lines]


def write_examples(path: Path, examples: Sequence[Example]) -> None:
    path.write_text("".join(json.dumps(example) + "\n" for example in examples))


def dataset_rows(pairs: Sequence[Pair], method: str) -> list[dict[str, Any]]:
    """Returns the lines of a training job's dataset."""
    if method == "sft":
        return [{"trajectory_id": f"chosen-{i}", "messages": p["chosen"]} for i, p in enumerate(pairs)]
    return [
        {
            "pair_id": f"pair-{i}",
            "kind": "expert-target",
            "lambda_dpo": 1.0,
            "lambda_sft": 0.0,
            **{side: {"trajectory_id": f"{side}-{i}", "messages": pair[side]} for side in pair},
        }
        for i, pair in enumerate(pairs)
    ]


def batches_of(examples: Sequence[Example], request: Request) -> list[list[list[int]]]:
    """Returns example indices by epoch and update, as our trainer plans them."""
    lengths = [max(len(row.input_ids) for row in example) for example in examples]
    epochs = range(request.epochs)
    return [plan_epoch(lengths, request.batch_size, seed=request.seed, epoch=epoch) for epoch in epochs]


def token_count(examples: Sequence[Example]) -> int:
    return sum(len(row.input_ids) for example in examples for row in example)


def pad(rows: Sequence[Row], pad_id: int) -> Padded:
    width = max(len(row.input_ids) for row in rows)

    def padded(values: Sequence[list[int]], filler: int) -> Tensor:
        return torch.tensor([[*v, *[filler] * (width - len(v))] for v in values])

    return Padded(
        input_ids=padded([row.input_ids for row in rows], pad_id),
        attention_mask=padded([[1] * len(row.input_ids) for row in rows], 0),
        action_mask=padded([row.action_mask for row in rows], 0),
    )
