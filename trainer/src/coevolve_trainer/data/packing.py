"""Divides the examples of an update into micro-batches and packs each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..chat.encoder import Segment
from .packed_batch import PackedBatch, min_shared_tokens, pack_trajectories, predicting_tokens
from .prefix_tree import common_prefix_length

UNSHARED = 2**40
"""Cost of a block, in tokens, for which no prefix is shared."""


@dataclass(frozen=True)
class Packing:
    """The packing of trajectories for the passes of a job."""

    pad_id: int
    block_cost: int = 8
    """Cost of one more block, in tokens: with a small policy, a kernel call takes as long as two tokens on a
    CPU."""
    shares_prefixes: bool = True
    """False puts every segment into a separate row, as the modules of transformers compute it."""

    @classmethod
    def for_kernels(cls, kernels: str, pad_id: int) -> Packing:
        """`kernels` is the resolved setting."""
        return cls(pad_id, shares_prefixes=kernels == "cpu")

    def plan(self, examples: Sequence[Sequence[Segment]], max_tokens: int) -> list[list[int]]:
        """Returns the example indices of micro-batches of at most `max_tokens`; a larger example is alone.

        Neighbors in lexicographic order are packed together, so that their common prefix is computed once.
        """
        if not self.shares_prefixes:
            return _plan_rows(examples, max_tokens)
        unshared = min_shared_tokens(self.block_cost) - 1
        plan: list[list[int]] = []
        size, previous = 0, list[int]()
        sequences = [sorted(predicting_tokens(segment) for segment in segments) for segments in examples]
        for i in sorted(range(len(examples)), key=lambda i: sequences[i]):
            size_alone = _size_after([], sequences[i], unshared)
            added = _size_after(previous, sequences[i], unshared) if plan else size_alone
            if plan and size + added <= max_tokens:
                plan[-1].append(i)
                size += added
            else:
                plan.append([i])
                size = size_alone
            previous = sequences[i][-1]
        return plan

    def pack(self, trajectories: Sequence[Sequence[Segment]], max_tokens: int) -> PackedBatch:
        """Packs the trajectories of one micro-batch, in order."""
        if not self.shares_prefixes:
            return pack_trajectories(trajectories, self.pad_id, block_cost=UNSHARED)
        packed = pack_trajectories(trajectories, self.pad_id, block_cost=self.block_cost)
        max_padding = max_tokens - len(packed.input_ids)
        if max_padding <= 0 or self.block_cost == 0:
            return packed
        return pack_trajectories(
            trajectories, self.pad_id, block_cost=self.block_cost, max_padding=max_padding
        )


def _plan_rows(examples: Sequence[Sequence[Segment]], max_tokens: int) -> list[list[int]]:
    """Plans micro-batches whose rows, padded to the longest one, have at most `max_tokens`.

    The longest rows come first: there is little padding, and a lack of memory shows at once.
    """
    lengths = [[len(predicting_tokens(segment)) for segment in segments] for segments in examples]
    plan: list[list[int]] = []
    rows = longest = 0
    for i in sorted(range(len(examples)), key=lambda i: -max(lengths[i])):
        rows += len(lengths[i])
        if not plan or rows * longest > max_tokens:
            plan.append([])
            rows, longest = len(lengths[i]), max(lengths[i])
        plan[-1].append(i)
    return plan


def _size_after(previous: list[int], sequences: Sequence[list[int]], unshared: int) -> int:
    """Returns the max number of computed tokens when sequences follow `previous` in lexicographic order."""
    size = 0
    for sequence in sequences:
        size += len(sequence) - max(0, common_prefix_length(previous, sequence) - unshared)
        previous = sequence
    return size
