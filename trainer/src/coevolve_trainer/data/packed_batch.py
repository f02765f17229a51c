"""Trajectories as one row of tokens, in which what several begin with stands once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ..chat.encoder import Segment
from .prefix_tree import Stretch, grow_tree

IntArray = npt.NDArray[np.int64]


class Block(NamedTuple):
    """Some stretches of equal width, one after the other in the row, which all continue the same tokens.

    A token sees those of its own stretch up to itself, and the whole of the blocks in `before`.
    """

    stretches: int
    width: int
    before: tuple[int, ...]
    """Blocks, of one stretch each, from the beginning of the trajectory to where this one goes on."""


@dataclass(frozen=True)
class Rows:
    """N tokens of B trajectories, with P different predictions that make up A action tokens."""

    input_ids: Tensor  # [N]
    positions: Tensor  # [N] each token's place in its trajectory
    blocks: tuple[Block, ...]  # in the order of the tokens, all of them
    predicts_at: Tensor  # [P] the token whose state predicts an action token
    predicted: Tensor  # [P] that action token's id
    prediction: Tensor  # [A] which prediction each trajectory's action token is; sides that agree share it
    owner: Tensor  # [A] trajectory of each action token
    counts: Tensor  # [B] action tokens per trajectory
    tokens: int  # of all trajectories, as if nothing were shared and nothing padded

    def to(self, device: torch.device) -> Rows:
        """The same on `device`; a copy from pinned memory, which need not be waited for."""
        if self.input_ids.device == device:
            return self
        names = ("input_ids", "positions", "predicts_at", "predicted", "prediction", "owner", "counts")
        tensors = {name: getattr(self, name) for name in names}
        if device.type == "cuda":
            tensors = {name: tensor.pin_memory() for name, tensor in tensors.items()}
        return replace(self, **{name: t.to(device, non_blocking=True) for name, t in tensors.items()})


def join_rows(
    trajectories: Sequence[Sequence[Segment]], pad_id: int, *, call_tokens: int = 0, room: int = 0
) -> Rows:
    """All segments in one row.

    `call_tokens` is what one more block costs, in tokens: stretches become rows of one block, and a beginning
    is not taken apart, where that costs less. Padding takes at most `room` tokens. A row ends with the last
    token that predicts an action: nothing is learnt from what follows.
    """
    owned = [(owner, segment) for owner, segments in enumerate(trajectories) for segment in segments]
    spoken = [np.flatnonzero(segment.action_mask[1:]) for _, segment in owned]
    seen = [predicting(segment) for _, segment in owned]
    tree = grow_tree(seen, least=least_shared(call_tokens))
    laid = _lay_out(tree.stretches, pad_id, call_tokens, room)
    at, ids = [], []
    for (_, segment), places, end in zip(owned, spoken, tree.ends, strict=True):
        if end is not None:
            at.append(laid.path(end)[places])
            ids.append(np.asarray(segment.input_ids)[places + 1])
    predicts_at, predicted = np.concatenate(at), np.concatenate(ids)
    pairs, prediction = np.unique(np.stack([predicts_at, predicted]), axis=1, return_inverse=True)
    counts = np.array([len(places) for places in spoken])
    owner = torch.from_numpy(np.repeat([owner for owner, _ in owned], counts))
    return Rows(
        input_ids=torch.from_numpy(laid.ids),
        positions=torch.from_numpy(laid.positions),
        blocks=tuple(laid.blocks),
        predicts_at=torch.from_numpy(pairs[0].copy()),
        predicted=torch.from_numpy(pairs[1].copy()),
        prediction=torch.from_numpy(prediction.reshape(-1)),
        owner=owner,
        counts=torch.bincount(owner, minlength=len(trajectories)).float(),
        tokens=sum(len(segment.input_ids) for _, segment in owned),
    )


def predicting(segment: Segment) -> list[int]:
    """The tokens up to the last that predicts an action."""
    mask = segment.action_mask
    end = next((t for t in range(len(mask) - 1, 0, -1) if mask[t]), 0)
    return segment.input_ids[:end]


def least_shared(call_tokens: int) -> int:
    """From how many tokens on it pays to compute a common beginning once: it makes a block more or two."""
    return 1 + 2 * call_tokens


@dataclass
class _Layout:
    ids: IntArray  # [N]
    positions: IntArray  # [N]
    blocks: list[Block]
    starts: dict[int, int]  # by id of the stretch: its first token's place in the row

    def path(self, end: Stretch) -> IntArray:
        """Places in the row of the tokens of a sequence, whose last stretch is `end`."""
        pieces: list[IntArray] = []
        stretch: Stretch | None = end
        while stretch is not None:
            start = self.starts[id(stretch)]
            pieces.append(np.arange(start, start + len(stretch.tokens)))
            stretch = stretch.parent
        return np.concatenate(pieces[::-1])


def _lay_out(stretches: Sequence[Stretch], pad_id: int, call_tokens: int, room: int) -> _Layout:
    """First what others continue, each a block of its own; then what nothing continues, alike in length."""
    inner = [stretch for stretch in stretches if stretch.children]
    number = {id(stretch): block for block, stretch in enumerate(inner)}
    leaves = [stretch for stretch in stretches if not stretch.children]
    layout = _Layout(np.empty(0, np.int64), np.empty(0, np.int64), [], {})
    ids: list[IntArray] = []
    positions: list[IntArray] = []
    place = 0
    for group in [*([stretch] for stretch in inner), *_alike(leaves, number, call_tokens, room)]:
        width = len(group[0].tokens)
        layout.blocks.append(Block(len(group), width, _before(group[0], number)))
        for stretch in group:
            layout.starts[id(stretch)] = place
            padding = [pad_id] * (width - len(stretch.tokens))
            ids.append(np.array([*stretch.tokens, *padding], dtype=np.int64))
            positions.append(np.arange(stretch.depth, stretch.depth + width))
            place += width
    layout.ids, layout.positions = np.concatenate(ids), np.concatenate(positions)
    return layout


def _alike(
    leaves: Sequence[Stretch], number: dict[int, int], call_tokens: int, room: int
) -> list[list[Stretch]]:
    """Leaves in groups that continue the same stretch; a group is padded to its first, the longest."""
    groups: list[list[Stretch]] = []
    siblings = {id(leaf): -1 if leaf.parent is None else number[id(leaf.parent)] for leaf in leaves}
    for leaf in sorted(leaves, key=lambda leaf: (siblings[id(leaf)], -len(leaf.tokens))):
        padding = len(groups[-1][0].tokens) - len(leaf.tokens) if groups else 0
        if groups and groups[-1][0].parent is leaf.parent and padding <= min(call_tokens, room):
            groups[-1].append(leaf)
            room -= padding
        else:
            groups.append([leaf])
    return groups


def _before(stretch: Stretch, number: dict[int, int]) -> tuple[int, ...]:
    blocks: list[int] = []
    parent = stretch.parent
    while parent is not None:
        blocks.append(number[id(parent)])
        parent = parent.parent
    return tuple(reversed(blocks))
