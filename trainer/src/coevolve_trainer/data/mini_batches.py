"""Divides a batch of rollouts into mini-batches of whole groups, one for each update."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise

import torch

from .rollout_batch import RolloutBatch


def plan_mini_batches(batch: RolloutBatch, count: int, *, epochs: int, seed: str) -> list[list[int]]:
    """Returns the groups of every mini-batch of all epochs, in order: at most one mini-batch per group.

    Groups stay whole, because Eq. 1 is a mean within each; their order in an epoch depends only on `seed`.
    """
    groups = list(range(int(batch.group.max()) + 1))
    count = min(count, len(groups))
    plan = []
    for epoch in range(epochs):
        order = list(groups)
        if count > 1:
            random.Random(f"{seed}/{epoch}").shuffle(order)
        edges = [len(order) * i // count for i in range(count + 1)]
        plan += [order[start:end] for start, end in pairwise(edges)]
    return plan


def select_groups(batch: RolloutBatch, groups: list[int]) -> tuple[RolloutBatch, torch.Tensor]:
    """Returns the rollouts of these groups as a batch, and the indices of its action tokens in `batch`."""
    kept_trajectories = torch.isin(batch.group, torch.tensor(groups)).nonzero().squeeze(1)
    number = torch.full_like(batch.group, -1)
    number[kept_trajectories] = torch.arange(len(kept_trajectories))
    kept_tokens = number[batch.trajectory] >= 0
    rows = [i for i, tokens in enumerate(batch.token_ranges) if len(tokens) and kept_tokens[tokens.start]]
    ranges, start = list[range](), 0
    for row in rows:
        ranges.append(range(start, start + len(batch.token_ranges[row])))
        start = ranges[-1].stop
    selected = replace(
        batch,
        segments=[batch.segments[row] for row in rows],
        token_ranges=ranges,
        old_logp=batch.old_logp[kept_tokens],
        trajectory=number[batch.trajectory[kept_tokens]],
        group=torch.unique(batch.group[kept_trajectories], return_inverse=True)[1],
        score=batch.score[kept_trajectories],
    )
    return selected, kept_tokens.nonzero().squeeze(1)
