"""Keys and values of prompt chunks seen before.

A chunk's entry depends on the tokens up to its end and on nothing else, and it was computed in the shape in
which it would be computed again: a hit gives the same bits as a miss. Answers are never entered, because
their keys come from decode steps, whose sums run in another order.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Sequence

import torch
from torch import Tensor

from .lazy_zeros import lazy_zeros

CHUNKS = 512  # 32 conversations of a thousand tokens; memory is taken as chunks come
SMALLEST_BYTES, LARGEST_BYTES = 64 * 2**20, 1024 * 2**20
Key = tuple[str, tuple[int, ...]]  # policy hash, tokens up to the chunk's end


class PrefixCache:
    """Shared by policies of one shape; when it is full, the least recently used chunk gives up its place.

    The places are one block of memory: chunks allocated one by one left 140 MB of holes after 4,000 requests.
    """

    def __init__(self, chunk_shape: Sequence[int], dtype: torch.dtype) -> None:
        chunk_bytes = math.prod(chunk_shape) * dtype.itemsize
        limit_bytes = min(max(CHUNKS * chunk_bytes, SMALLEST_BYTES), LARGEST_BYTES)
        self._places = lazy_zeros(max(1, limit_bytes // chunk_bytes), *chunk_shape, dtype=dtype)
        self._taken: OrderedDict[Key, int] = OrderedDict()

    def find(self, policy: str, prefix: tuple[int, ...]) -> Tensor | None:
        """Keys and values of the last chunk of `prefix` under the policy of that hash, or None."""
        place = self._taken.get((policy, prefix))
        if place is None:
            return None
        self._taken.move_to_end((policy, prefix))
        return self._places[place]

    def save(self, policy: str, prefix: tuple[int, ...], chunk: Tensor) -> None:
        """Copies a chunk that `find` did not find."""
        full = len(self._taken) == len(self._places)
        place = self._taken.popitem(last=False)[1] if full else len(self._taken)
        self._places[place].copy_(chunk)
        self._taken[policy, prefix] = place
