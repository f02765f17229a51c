"""Cache of the keys and values of prompt chunks.

An entry depends only on the tokens up to the chunk's end, and it was computed in the shape in which it would
be computed again: a hit gives the same bits as a miss. Completions are not cached, because decoding computes
their keys with sums in another order.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Sequence

import torch
from torch import Tensor

from .lazy_zeros import lazy_zeros

CHUNKS = 512  # 32 conversations of a thousand tokens; memory is allocated with each chunk
SMALLEST_BYTES, LARGEST_BYTES = 64 * 2**20, 1024 * 2**20
Key = tuple[str, tuple[int, ...]]  # policy hash, tokens up to the chunk's end


class PrefixCache:
    """A least-recently-used cache, shared by policies of the same shape.

    All entries are in one tensor: chunks allocated one by one fragmented 140 MB after 4,000 requests.
    """

    def __init__(self, chunk_shape: Sequence[int], dtype: torch.dtype) -> None:
        chunk_bytes = math.prod(chunk_shape) * dtype.itemsize
        limit_bytes = min(max(CHUNKS * chunk_bytes, SMALLEST_BYTES), LARGEST_BYTES)
        self._entries = lazy_zeros(max(1, limit_bytes // chunk_bytes), *chunk_shape, dtype=dtype)
        self._index_by_key: OrderedDict[Key, int] = OrderedDict()

    def find(self, policy: str, prefix: tuple[int, ...]) -> Tensor | None:
        """Returns the keys and values of the last chunk of `prefix`; None if it is not in the cache."""
        index = self._index_by_key.get((policy, prefix))
        if index is None:
            return None
        self._index_by_key.move_to_end((policy, prefix))
        return self._entries[index]

    def save(self, policy: str, prefix: tuple[int, ...], chunk: Tensor) -> None:
        """Copies a chunk that is not in the cache; evicts the least recently used one if it is full."""
        is_full = len(self._index_by_key) == len(self._entries)
        index = self._index_by_key.popitem(last=False)[1] if is_full else len(self._index_by_key)
        self._entries[index].copy_(chunk)
        self._index_by_key[policy, prefix] = index
