"""Which trajectories of an update are computed together, and how they become rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from ..chat.encoder import Segment
from .packed_batch import Rows, join_rows, least_shared, predicting
from .prefix_tree import common_beginning


@dataclass(frozen=True)
class Packing:
    """How trajectories become rows."""

    pad_id: int
    call_tokens: int = 8
    """What one more block costs, in tokens. Of a small policy a call takes as long as two tokens on a CPU; on
    a GPU, where calls are launched one by one, as long as some hundreds."""

    @classmethod
    def on(cls, device: torch.device, pad_id: int) -> Packing:
        return cls(pad_id, call_tokens=512 if device.type == "cuda" else 8)

    def plan(self, units: Sequence[Sequence[Segment]], max_tokens: int) -> list[list[int]]:
        """Indices of units in parts of at most `max_tokens` tokens to compute; a larger unit stands alone.

        Neighbours in lexicographic order come together, so that what they begin alike with is computed once.
        """
        unshared = least_shared(self.call_tokens) - 1
        parts: list[list[int]] = []
        size, past = 0, list[int]()
        sequences = [sorted(predicting(segment) for segment in unit) for unit in units]
        for i in sorted(range(len(units)), key=lambda i: sequences[i]):
            alone = _size(sequences[i], [], unshared)
            added = _size(sequences[i], past, unshared) if parts else alone
            if parts and size + added <= max_tokens:
                parts[-1].append(i)
                size += added
            else:
                parts.append([i])
                size = alone
            past = sequences[i][-1]
        return parts

    def rows(self, trajectories: Sequence[Sequence[Segment]], max_tokens: int) -> Rows:
        """The trajectories of one part, in their order."""
        joined = join_rows(trajectories, self.pad_id, call_tokens=self.call_tokens)
        room = max_tokens - len(joined.input_ids)
        if room <= 0 or self.call_tokens == 0:
            return joined
        return join_rows(trajectories, self.pad_id, call_tokens=self.call_tokens, room=room)


def _size(sequences: Sequence[list[int]], past: list[int], unshared: int) -> int:
    """Tokens to compute, at most, when sequences follow `past` in lexicographic order."""
    size = 0
    for sequence in sequences:
        size += len(sequence) - max(0, common_beginning(past, sequence) - unshared)
        past = sequence
    return size
