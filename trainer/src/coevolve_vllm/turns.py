"""Gives the vLLM processes to base models in turn.

A slot serves one base model at a time. Attempts at tasks hold turns. A turn for the slot's base model is
granted at once; a turn for another model waits until the last turn has ended. So a server with one slot plays
all attempts of one agent and then all of the other, instead of changing the model at every action.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Generic, Protocol, TypeVar

LINGER_S = 3.0
"""A base model keeps its slot for this time after its last turn: its next attempts may be about to start."""
POLL_S = 0.25


class Slot(Protocol):
    """A place for one vLLM process."""

    @property
    def blocker(self) -> str | None:
        """Holder of the slot's devices, which must free them first; None if they are free."""


S = TypeVar("S", bound=Slot)


class Turns(Generic[S]):
    """Turns on slots. Base models get free slots in the order of their first waiting request."""

    def __init__(self, slots: Sequence[S], *, linger_s: float = LINGER_S) -> None:
        self.slots = slots
        self._linger_s = linger_s
        self._base: dict[int, str] = {}  # index of the slot -> its base model
        self._count = [0] * len(slots)
        self._ended_at = [float("-inf")] * len(slots)
        self._waiting: dict[int, str] = {}  # ticket -> base model
        self._tickets = itertools.count()
        self._changed = asyncio.Event()

    def is_held(self, slot: S) -> bool:
        return self._count[self.slots.index(slot)] > 0

    @contextlib.asynccontextmanager
    async def hold(self, base: str, on_wait: Callable[[str], None] = lambda _: None) -> AsyncIterator[S]:
        """Waits for a slot for a base model; `on_wait` gets the reason four times a second."""
        index = await self._take(base, on_wait)
        try:
            yield self.slots[index]
        finally:
            self._count[index] -= 1
            self._ended_at[index] = time.monotonic()
            self._notify()

    async def _take(self, base: str, on_wait: Callable[[str], None]) -> int:
        ticket = next(self._tickets)
        self._waiting[ticket] = base
        try:
            while (index := self._choose(base, ticket)) is None:
                on_wait(self._reason(base))
                changed = self._changed
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(changed.wait(), POLL_S)
            self._base[index] = base
            self._count[index] += 1
            return index
        finally:
            del self._waiting[ticket]
            self._notify()

    def _choose(self, base: str, ticket: int) -> int | None:
        blocked = [slot.blocker is not None for slot in self.slots]
        for index, held in self._base.items():
            if held == base and (self._count[index] > 0 or not blocked[index]):
                return index
        if any(other != base for earlier, other in self._waiting.items() if earlier < ticket):
            return None
        free = [index for index in range(len(self.slots)) if not blocked[index] and self._is_free(index)]
        return min(free, key=lambda index: (index in self._base, self._ended_at[index]), default=None)

    def _is_free(self, index: int) -> bool:
        return self._count[index] == 0 and time.monotonic() - self._ended_at[index] >= self._linger_s

    def _reason(self, base: str) -> str:
        policies = {index: f"policy {held[:12]}" for index, held in self._base.items()}
        holders = (slot.blocker or policies.get(index) for index, slot in enumerate(self.slots))
        return f"policy {base[:12]} waits for {', '.join(filter(None, holders))}"

    def _notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
