"""One policy being served: its slots, its queue, and the step that advances them all."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field

import numpy as np
import torch
import torch.nn.functional as F

from coevolve_trainer.chat.encoder import ChatEncoder

from .completion import AnswerReader, FinishReason
from .decoder import CHUNK, Decoder
from .prefix_cache import PrefixCache
from .sampling import Floats, Sampler, choose_tokens


@dataclass(eq=False)
class Generation:
    """One request on its way: what it asked for, and what it has so far."""

    prompt_ids: list[int]
    max_tokens: int
    sampler: Sampler
    stop: tuple[str, ...]
    done: asyncio.Future[None]
    filled: int = 0
    """Tokens of the prompt whose keys and values are in the slot."""
    token_ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    finish_reason: FinishReason = "length"


class Lane:
    """Continuous batching over fixed slots."""

    def __init__(self, name: str, decoder: Decoder, encoder: ChatEncoder, prefixes: PrefixCache) -> None:
        self.encoder, self.reader = encoder, AnswerReader(encoder)
        self.waiting: deque[Generation] = deque()
        self._decoder = decoder
        self._name, self._prefixes = name, prefixes
        self._slots: list[Generation | None] = [None] * decoder.slots
        self._ids = torch.zeros(decoder.slots, dtype=torch.long)
        self._positions = torch.zeros(decoder.slots, dtype=torch.long)

    @property
    def context(self) -> int:
        return int(self._decoder.context)

    @property
    def active(self) -> int:
        return sum(slot is not None for slot in self._slots)

    @property
    def busy(self) -> bool:
        return bool(self.waiting) or self.active > 0

    def fail(self, error: Exception) -> None:
        """Ends every request of this policy with the error that stopped it."""
        for generation in (*self.waiting, *(g for g in self._slots if g is not None)):
            self.drop(generation)
            if not generation.done.done():
                generation.done.set_exception(error)

    def drop(self, generation: Generation) -> None:
        """Frees what a vanished client held."""
        if generation in self.waiting:
            self.waiting.remove(generation)
        if generation in self._slots:
            self._release(self._slots.index(generation))

    def advance(self) -> None:
        """Computes one chunk of a prompt or, when every prompt with a slot is filled in, one token for each.

        Prompts come first, because a step of many costs hardly more than a step of few; chunk by chunk, so
        that a long prompt of a large model does not keep the sockets waiting.
        """
        slot = self._next_to_fill()
        if slot is not None:
            self._fill(slot)
            return
        active = [slot for slot, occupant in enumerate(self._slots) if occupant is not None]
        if not active:
            return
        longest = int(self._positions.max())
        logits = self._decoder.decode(self._ids, self._positions, longest, active[-1] + 1)
        self._positions[active] += 1
        self._take(active, logits.numpy()[active])

    def _next_to_fill(self) -> int | None:
        """The slot of a prompt that is not filled in, given to the next one that waits if there is none."""
        for slot, occupant in enumerate(self._slots):
            if occupant is not None and occupant.filled < len(occupant.prompt_ids):
                return slot
        if not self.waiting or None not in self._slots:
            return None
        slot = self._slots.index(None)
        self._slots[slot] = self.waiting.popleft()
        return slot

    def _fill(self, slot: int) -> None:
        """Chunks of the prompt up to the first that must be computed; the last one must, for its logits."""
        generation = self._slots[slot]
        assert generation is not None
        prompt = generation.prompt_ids
        while True:
            start = generation.filled
            end = generation.filled = min(start + CHUNK, len(prompt))
            place = self._decoder.cache[:, :, slot, :, start : start + CHUNK]  # [layers, 2, K, CHUNK, E]
            prefix = tuple(prompt[:end])
            cached = self._prefixes.find(self._name, prefix) if end < len(prompt) else None
            if cached is None:
                break
            place.copy_(cached)
        ids = F.pad(torch.tensor(prompt[start:end]), (0, start + CHUNK - end))
        states = self._decoder.prefill(slot, start, ids)
        if end < len(prompt):
            self._prefixes.save(self._name, prefix, place)
            return
        self._positions[slot] = len(prompt)
        last = end - start - 1
        self._take([slot], self._decoder.logits(states[last : last + 1]).numpy())

    def _take(self, slots: list[int], logits: Floats) -> None:
        if not np.isfinite(logits).all():
            raise FloatingPointError("the policy's logits are not finite")
        generations = [g for slot in slots if (g := self._slots[slot]) is not None]
        tokens, logprobs = choose_tokens(logits, [g.sampler for g in generations])
        for slot, generation, token, logprob in zip(slots, generations, tokens, logprobs, strict=True):
            generation.token_ids.append(token)
            generation.logprobs.append(logprob)
            self._ids[slot] = token
            if self._is_finished(generation, token):
                self._release(slot)
                if not generation.done.done():
                    generation.done.set_result(None)

    def _is_finished(self, generation: Generation, token: int) -> bool:
        if token in self.encoder.stop_ids or self._stopped(generation):
            generation.finish_reason = "stop"
            return True
        return len(generation.token_ids) >= generation.max_tokens

    def _stopped(self, generation: Generation) -> bool:
        return (
            bool(generation.stop)
            and self.reader.text_of(generation.token_ids, generation.stop)[1] is not None
        )

    def _release(self, slot: int) -> None:
        self._slots[slot] = None
        self._ids[slot] = 0
        self._positions[slot] = 0
