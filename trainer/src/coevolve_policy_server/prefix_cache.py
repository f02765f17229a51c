"""Keys and values of prompt chunks seen before.

A chunk's entry depends on the tokens up to its end and on nothing else, and it was computed in the shape in
which it would be computed again: a hit gives the same bits as a miss. Answers are never entered, because
their keys come from decode steps, whose sums run in another order.
"""

from __future__ import annotations

from collections import OrderedDict

from torch import Tensor


class PrefixCache:
    """Least recently used chunks leave when `limit_bytes` is passed."""

    def __init__(self, limit_bytes: int) -> None:
        self._entries: OrderedDict[tuple[int, ...], Tensor] = OrderedDict()
        self._limit, self._bytes = limit_bytes, 0

    def find(self, prefix: tuple[int, ...]) -> Tensor | None:
        """Keys and values of the last chunk of `prefix`, or None."""
        entry = self._entries.get(prefix)
        if entry is not None:
            self._entries.move_to_end(prefix)
        return entry

    def save(self, prefix: tuple[int, ...], chunk: Tensor) -> None:
        if prefix in self._entries:
            return
        self._entries[prefix] = chunk
        self._bytes += chunk.nbytes
        while self._bytes > self._limit:
            _, dropped = self._entries.popitem(last=False)
            self._bytes -= dropped.nbytes
