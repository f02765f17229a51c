"""Which examples form an update."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from .dataset import Example

POOL_BATCHES = 16  # batches sorted by length together: padding falls below 5 %, order stays random


def plan_epoch(lengths: Sequence[int], batch_size: int, *, seed: int, epoch: int) -> list[list[int]]:
    """Batches of example indices for one epoch: a function of its arguments alone, so a resumed job agrees.

    Shuffled, then sorted by length within pools, so that rows of a batch are alike in length.
    """
    generator = torch.Generator().manual_seed((seed * 1_000_003 + epoch) % 2**63)
    order: list[int] = torch.randperm(len(lengths), generator=generator).tolist()
    pool = batch_size * POOL_BATCHES
    batches: list[list[int]] = []
    for start in range(0, len(order), pool):
        alike = sorted(order[start : start + pool], key=lambda i: lengths[i])
        batches += [alike[i : i + batch_size] for i in range(0, len(alike), batch_size)]
    shuffle: list[int] = torch.randperm(len(batches), generator=generator).tolist()
    return [batches[i] for i in shuffle]


def row_length(example: Example) -> int:
    """Longest row of an example."""
    return max(len(segment.input_ids) for segment in (*example.chosen, *example.rejected))
