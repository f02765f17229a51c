"""The order of the examples in an epoch: random batches of similar length."""

from __future__ import annotations

from collections.abc import Sequence

import torch

POOL_BATCHES = 16  # batches sorted by length together: padding falls below 5 %, the order remains random


def plan_epoch(lengths: Sequence[int], batch_size: int, *, seed: int, epoch: int) -> list[list[int]]:
    """Returns the batches of one epoch as example indices: a pure function, so that a resumed job agrees.

    Examples are shuffled, then sorted by length within pools, so that the rows of a batch have similar
    lengths.
    """
    generator = torch.Generator().manual_seed((seed * 1_000_003 + epoch) % 2**63)
    order: list[int] = torch.randperm(len(lengths), generator=generator).tolist()
    pool_size = batch_size * POOL_BATCHES
    batches: list[list[int]] = []
    for start in range(0, len(order), pool_size):
        pool = sorted(order[start : start + pool_size], key=lambda i: lengths[i])
        batches += [pool[i : i + batch_size] for i in range(0, len(pool), batch_size)]
    shuffle: list[int] = torch.randperm(len(batches), generator=generator).tolist()
    return [batches[i] for i in shuffle]
