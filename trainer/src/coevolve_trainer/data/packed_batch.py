"""Packs trajectories into one row of tokens, in which a common prefix occurs once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ..chat.encoder import Segment
from .prefix_tree import PrefixNode, build_prefix_tree

IntArray = npt.NDArray[np.int64]


class Block(NamedTuple):
    """Consecutive nodes of equal width in the row, which all continue the same prefix.

    A token attends to its node's tokens up to itself, and to all of the blocks in `prefix`.
    """

    node_count: int
    width: int
    prefix: tuple[int, ...]
    """Indices of the blocks, of one node each, from the start of the trajectory to this block."""


@dataclass(frozen=True)
class PackedBatch:
    """N tokens of B trajectories, with P distinct predictions for A action tokens."""

    input_ids: Tensor  # [N]
    position_ids: Tensor  # [N] position of each token in its trajectory
    blocks: tuple[Block, ...]  # in the order of the tokens, all of them
    source_index: Tensor  # [P] index of the token whose state predicts an action token
    target_ids: Tensor  # [P] id of that action token
    prediction_index: Tensor  # [A] index of each action token's prediction; equal prefixes share one
    trajectory_index: Tensor  # [A] trajectory of each action token
    action_counts: Tensor  # [B] action tokens per trajectory
    token_count: int  # in all trajectories; a shared prefix counts in each; without padding

    def to(self, device: torch.device) -> PackedBatch:
        """Returns the batch on `device`; the copy is asynchronous, from pinned memory."""
        if self.input_ids.device == device:
            return self
        names = [name for name, value in vars(self).items() if isinstance(value, Tensor)]
        tensors = {name: getattr(self, name) for name in names}
        if device.type == "cuda":
            tensors = {name: tensor.pin_memory() for name, tensor in tensors.items()}
        return replace(self, **{name: t.to(device, non_blocking=True) for name, t in tensors.items()})


def pack_trajectories(
    trajectories: Sequence[Sequence[Segment]], pad_id: int, *, block_cost: int = 0, max_padding: int = 0
) -> PackedBatch:
    """Packs all segments into one row.

    `block_cost` is the cost of one more block, in tokens: nodes share a block, and a prefix is not separated,
    when that is cheaper. Padding takes at most `max_padding` tokens. A segment ends with the last token that
    predicts an action, because the tokens after it have no loss.
    """
    owned = [(owner, segment) for owner, segments in enumerate(trajectories) for segment in segments]
    sources = [np.flatnonzero(segment.action_mask[1:]) for _, segment in owned]
    sequences = [predicting_tokens(segment) for _, segment in owned]
    tree = build_prefix_tree(sequences, min_saved_tokens=min_shared_tokens(block_cost))
    layout = _lay_out(tree.nodes, pad_id, block_cost, max_padding)
    source_indices, target_ids = [], []
    for (_, segment), source, leaf in zip(owned, sources, tree.leaves, strict=True):
        if leaf is not None:
            source_indices.append(layout.token_indices(leaf)[source])
            target_ids.append(np.asarray(segment.input_ids)[source + 1])
    predictions, prediction_index = np.unique(
        np.stack([np.concatenate(source_indices), np.concatenate(target_ids)]), axis=1, return_inverse=True
    )
    counts = np.array([len(source) for source in sources])
    trajectory_index = torch.from_numpy(np.repeat([owner for owner, _ in owned], counts))
    return PackedBatch(
        input_ids=torch.from_numpy(layout.ids),
        position_ids=torch.from_numpy(layout.positions),
        blocks=tuple(layout.blocks),
        source_index=torch.from_numpy(predictions[0].copy()),
        target_ids=torch.from_numpy(predictions[1].copy()),
        prediction_index=torch.from_numpy(prediction_index.reshape(-1)),
        trajectory_index=trajectory_index,
        action_counts=torch.bincount(trajectory_index, minlength=len(trajectories)).float(),
        token_count=sum(len(segment.input_ids) for _, segment in owned),
    )


def predicting_tokens(segment: Segment) -> list[int]:
    """Returns the tokens up to the last one that predicts an action."""
    mask = segment.action_mask
    end = next((t for t in range(len(mask) - 1, 0, -1) if mask[t]), 0)
    return segment.input_ids[:end]


def min_shared_tokens(block_cost: int) -> int:
    """Returns the min length of a shared prefix: separating it adds one or two blocks."""
    return 1 + 2 * block_cost


@dataclass
class _Layout:
    ids: IntArray  # [N]
    positions: IntArray  # [N]
    blocks: list[Block]
    starts: dict[int, int]  # id of the node -> index of its first token in the row

    def token_indices(self, leaf: PrefixNode) -> IntArray:
        """Returns the indices in the row of the sequence that ends with `leaf`."""
        ranges: list[IntArray] = []
        node: PrefixNode | None = leaf
        while node is not None:
            start = self.starts[id(node)]
            ranges.append(np.arange(start, start + len(node.tokens)))
            node = node.parent
        return np.concatenate(ranges[::-1])


def _lay_out(nodes: Sequence[PrefixNode], pad_id: int, block_cost: int, max_padding: int) -> _Layout:
    """Places inner nodes first, each in a block, and then the leaves, in blocks of similar length."""
    inner = [node for node in nodes if node.children]
    block_of = {id(node): block for block, node in enumerate(inner)}
    leaves = [node for node in nodes if not node.children]
    layout = _Layout(np.empty(0, np.int64), np.empty(0, np.int64), [], {})
    ids: list[IntArray] = []
    positions: list[IntArray] = []
    start = 0
    for group in [*([node] for node in inner), *_group_leaves(leaves, block_of, block_cost, max_padding)]:
        width = len(group[0].tokens)
        layout.blocks.append(Block(len(group), width, _prefix_blocks(group[0], block_of)))
        for node in group:
            layout.starts[id(node)] = start
            padding = [pad_id] * (width - len(node.tokens))
            ids.append(np.array([*node.tokens, *padding], dtype=np.int64))
            positions.append(np.arange(node.depth, node.depth + width))
            start += width
    layout.ids, layout.positions = np.concatenate(ids), np.concatenate(positions)
    return layout


def _group_leaves(
    leaves: Sequence[PrefixNode], block_of: dict[int, int], block_cost: int, max_padding: int
) -> list[list[PrefixNode]]:
    """Groups leaves with the same parent; a group is padded to its first leaf, the longest."""
    groups: list[list[PrefixNode]] = []
    parents = {id(leaf): -1 if leaf.parent is None else block_of[id(leaf.parent)] for leaf in leaves}
    for leaf in sorted(leaves, key=lambda leaf: (parents[id(leaf)], -len(leaf.tokens))):
        padding = len(groups[-1][0].tokens) - len(leaf.tokens) if groups else 0
        if groups and groups[-1][0].parent is leaf.parent and padding <= min(block_cost, max_padding):
            groups[-1].append(leaf)
            max_padding -= padding
        else:
            groups.append([leaf])
    return groups


def _prefix_blocks(node: PrefixNode, block_of: dict[int, int]) -> tuple[int, ...]:
    blocks: list[int] = []
    parent = node.parent
    while parent is not None:
        blocks.append(block_of[id(parent)])
        parent = parent.parent
    return tuple(reversed(blocks))
