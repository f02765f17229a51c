"""Which examples form an update, and their tokens as padded tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ..chat.encoder import Segment
from .dataset import Example

POOL_BATCHES = 16  # batches sorted by length together: padding falls below 5 %, order stays random


@dataclass(frozen=True)
class Rows:
    """Right-padded rows of several trajectories: R rows, T positions, A action tokens, B trajectories."""

    input_ids: Tensor  # [R, T]
    action_at: Tensor  # [A] flat index into [R, T] of the position that predicts an action token
    action_ids: Tensor  # [A] the token predicted there
    owner: Tensor  # [A] trajectory of each action token
    counts: Tensor  # [B] action tokens per trajectory
    tokens: int  # without padding


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
    """Longest row of an example: what decides its padding."""
    return max(len(segment.input_ids) for segment in (*example.chosen, *example.rejected))


def plan_micro_batches(lengths: Sequence[int], max_tokens: int) -> list[list[int]]:
    """Row indices of one update in parts of at most `max_tokens` with padding; a longer row stands alone.

    Sorted by length, so that padding is little; a function of its arguments, so that sums have one order.
    """
    parts: list[list[int]] = []
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if parts and (len(parts[-1]) + 1) * lengths[i] <= max_tokens:  # the newest row is the widest
            parts[-1].append(i)
        else:
            parts.append([i])
    return parts


def pad_rows(trajectories: Sequence[Sequence[Segment]], pad_id: int) -> Rows:
    """Right padding needs no mask under causal attention: no real position sees a pad."""
    rows = [(owner, segment) for owner, segments in enumerate(trajectories) for segment in segments]
    width = max(len(segment.input_ids) for _, segment in rows)
    ids, at, targets, owners = [], [], [], []
    for row, (owner, segment) in enumerate(rows):
        tokens, mask = segment.input_ids, segment.action_mask
        ids.append(tokens + [pad_id] * (width - len(tokens)))
        spoken = [t for t in range(1, len(tokens)) if mask[t]]
        at += [row * width + t - 1 for t in spoken]
        targets += [tokens[t] for t in spoken]
        owners += [owner] * len(spoken)
    owner_of = torch.tensor(owners)
    return Rows(
        input_ids=torch.tensor(ids),
        action_at=torch.tensor(at),
        action_ids=torch.tensor(targets),
        owner=owner_of,
        counts=torch.bincount(owner_of, minlength=len(trajectories)).float(),
        tokens=sum(len(segment.input_ids) for _, segment in rows),
    )
