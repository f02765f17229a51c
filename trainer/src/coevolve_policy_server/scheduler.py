"""Continuous batching for one policy: its slots, its queue, and the next pass over them."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field

import numpy as np
import torch
import torch.nn.functional as F

from coevolve_trainer.chat.encoder import ChatEncoder

from .completion import CompletionDecoder, FinishReason
from .decoder import CHUNK, Decoder
from .prefix_cache import PrefixCache
from .sampling import Floats, Sampler, sample_tokens


@dataclass(eq=False)
class Generation:
    """The state of one request: its parameters and the tokens so far."""

    prompt_ids: list[int]
    max_tokens: int
    sampler: Sampler
    stop: tuple[str, ...]
    done: asyncio.Future[None]
    prefilled: int = 0
    """Prompt tokens whose keys and values are in the slot."""
    token_ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    finish_reason: FinishReason = "length"


class Scheduler:
    """Assigns requests to a fixed number of slots and computes them together."""

    def __init__(
        self, policy_hash: str, decoder: Decoder, encoder: ChatEncoder, prefix_cache: PrefixCache
    ) -> None:
        self.encoder, self.completion_decoder = encoder, CompletionDecoder(encoder)
        self.waiting: deque[Generation] = deque()
        self._decoder = decoder
        self._policy_hash, self._prefix_cache = policy_hash, prefix_cache
        self._slots: list[Generation | None] = [None] * decoder.slots
        self._ids = torch.zeros(decoder.slots, dtype=torch.long)
        self._positions = torch.zeros(decoder.slots, dtype=torch.long)

    @property
    def context(self) -> int:
        return int(self._decoder.context)

    @property
    def is_busy(self) -> bool:
        return bool(self.waiting) or any(slot is not None for slot in self._slots)

    def fail(self, error: Exception) -> None:
        """Fails every request of this policy with `error`."""
        for generation in (*self.waiting, *(g for g in self._slots if g is not None)):
            self.remove(generation)
            if not generation.done.done():
                generation.done.set_exception(error)

    def remove(self, generation: Generation) -> None:
        """Removes a request from the queue, or frees its slot."""
        if generation in self.waiting:
            self.waiting.remove(generation)
        if generation in self._slots:
            self._release(self._slots.index(generation))

    def advance(self) -> None:
        """Computes one chunk of a prompt or, if all prompts in slots are prefilled, one token for each slot.

        Prompts come first, because decoding many slots takes little longer than decoding a few; they are
        computed in chunks, so that a long prompt of a large model does not block the sockets.
        """
        slot = self._next_slot_to_prefill()
        if slot is not None:
            self._prefill(slot)
            return
        active = [slot for slot, generation in enumerate(self._slots) if generation is not None]
        if not active:
            return
        longest = int(self._positions.max())
        logits = self._decoder.decode(self._ids, self._positions, longest, active[-1] + 1)
        self._positions[active] += 1
        self._append_tokens(active, logits.numpy()[active])

    def _next_slot_to_prefill(self) -> int | None:
        """Returns a slot with an incomplete prompt; if none, gives a free slot to a waiting request."""
        for slot, generation in enumerate(self._slots):
            if generation is not None and generation.prefilled < len(generation.prompt_ids):
                return slot
        if not self.waiting or None not in self._slots:
            return None
        slot = self._slots.index(None)
        self._slots[slot] = self.waiting.popleft()
        return slot

    def _prefill(self, slot: int) -> None:
        """Copies cached chunks and computes the next one; the last is always computed, for its logits."""
        generation = self._slots[slot]
        assert generation is not None
        prompt = generation.prompt_ids
        while True:
            start = generation.prefilled
            end = generation.prefilled = min(start + CHUNK, len(prompt))
            chunk = self._decoder.cache[:, :, slot, :, start : start + CHUNK]  # [layers, 2, K, CHUNK, E]
            prefix = tuple(prompt[:end])
            cached = self._prefix_cache.find(self._policy_hash, prefix) if end < len(prompt) else None
            if cached is None:
                break
            chunk.copy_(cached)
        ids = F.pad(torch.tensor(prompt[start:end]), (0, start + CHUNK - end))
        states = self._decoder.prefill(slot, start, ids)
        if end < len(prompt):
            self._prefix_cache.save(self._policy_hash, prefix, chunk)
            return
        self._positions[slot] = len(prompt)
        last = end - start - 1
        self._append_tokens([slot], self._decoder.logits(states[last : last + 1]).numpy())

    def _append_tokens(self, slots: list[int], logits: Floats) -> None:
        if not np.isfinite(logits).all():
            raise FloatingPointError("the policy's logits are not finite")
        generations = [g for slot in slots if (g := self._slots[slot]) is not None]
        tokens, logprobs = sample_tokens(logits, [g.sampler for g in generations])
        for slot, generation, token, logprob in zip(slots, generations, tokens, logprobs, strict=True):
            generation.token_ids.append(token)
            generation.logprobs.append(logprob)
            self._ids[slot] = token
            if self._is_finished(generation, token):
                self._release(slot)
                if not generation.done.done():
                    generation.done.set_result(None)

    def _is_finished(self, generation: Generation, token: int) -> bool:
        if token in self.encoder.stop_ids or self._has_stop_string(generation):
            generation.finish_reason = "stop"
            return True
        return len(generation.token_ids) >= generation.max_tokens

    def _has_stop_string(self, generation: Generation) -> bool:
        if not generation.stop:
            return False
        _, stop_string = self.completion_decoder.decode_until_stop(generation.token_ids, generation.stop)
        return stop_string is not None

    def _release(self, slot: int) -> None:
        self._slots[slot] = None
        self._ids[slot] = 0
        self._positions[slot] = 0
