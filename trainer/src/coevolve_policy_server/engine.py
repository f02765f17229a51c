"""The policies being served, and the loop that advances them.

Model and HTTP share one thread on purpose: two would only hand the interpreter's lock to and fro. The loop
yields after each step, so a socket waits one step (2 ms at 0.4 M parameters) at most.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import torch
from safetensors import SafetensorError

from coevolve_trainer.chat.encoder import ChatEncoder
from coevolve_trainer.failures import JobFailure

from .api_errors import ApiError, room_left, unknown_model
from .chat_request import ChatRequest
from .completion import Answer
from .decoder import Decoder
from .prefix_cache import PrefixCache
from .sampling import Sampler
from .scheduler import Generation, Lane
from .weights import PolicyWeights


class Engine:
    """Loads policies under their hashes and generates with them."""

    def __init__(self, *, slots: int, max_context: int, max_waiting: int) -> None:
        self._slots, self._max_context, self._max_waiting = slots, max_context, max_waiting
        self._lanes: dict[str, Lane] = {}
        self._leaving: list[Lane] = []  # unloaded, with requests still on their way
        # By the shape and type of a chunk
        self._prefixes: dict[tuple[tuple[int, ...], torch.dtype], PrefixCache] = {}
        self._work = asyncio.Event()

    @property
    def policies(self) -> Sequence[str]:
        return list(self._lanes)

    async def load(self, policy_hash: str, folder: Path) -> None:
        """Serves the policy in `folder` under its hash; loading it again changes nothing.

        Raises:
            ApiError: 400 when the directory's manifest is not `policy_hash`, or a file is not the manifest's.
        """
        if policy_hash in self._lanes:
            return
        try:
            self._lanes[policy_hash] = self._open(policy_hash, folder)
        except (JobFailure, OSError, ValueError, KeyError, SafetensorError) as error:
            raise ApiError(
                400, "invalid_policy", f"cannot load {folder}: {error}", param="lora_path"
            ) from error

    async def unload(self, policy_hash: str) -> None:
        """Takes no new request for the policy; those on their way are finished."""
        self._leaving.append(self.lane(policy_hash))
        del self._lanes[policy_hash]

    def lane(self, policy_hash: str) -> Lane:
        if policy_hash not in self._lanes:
            raise unknown_model(policy_hash)
        return self._lanes[policy_hash]

    async def complete(self, request: ChatRequest) -> Answer:
        """Queues a request and waits for its answer; a request that is cancelled frees its slot.

        Raises:
            ApiError: 404 for an unknown model, 400 for a prompt beyond the context, 429 for a full queue, 500
                when the policy's numbers are not finite.
        """
        lane = self.lane(request.model)
        generation = self._submit(lane, request)
        try:
            await generation.done
        except asyncio.CancelledError:
            lane.drop(generation)
            raise
        except Exception as error:
            raise ApiError(500, "generation_failed", f"{type(error).__name__}: {error}") from error
        return Answer(
            prompt_ids=generation.prompt_ids,
            token_ids=generation.token_ids,
            logprobs=generation.logprobs,
            finish_reason=generation.finish_reason,
            reader=lane.reader,
        )

    def health(self) -> dict[str, object]:
        return {}

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        loop = asyncio.create_task(self._advance_forever())
        yield
        loop.cancel()

    def _submit(self, lane: Lane, request: ChatRequest) -> Generation:
        if len(lane.waiting) >= self._max_waiting:
            raise ApiError(429, "overloaded", f"{len(lane.waiting)} requests are waiting", retry_after=1)
        prompt = lane.encoder.prompt_ids(request.messages)
        room = room_left(lane.context, prompt)
        generation = Generation(
            prompt_ids=prompt,
            max_tokens=min(request.max_tokens or room, room),
            sampler=Sampler.seeded(request.seed, temperature=request.temperature, top_p=request.top_p),
            stop=request.stop,
            done=asyncio.get_running_loop().create_future(),
        )
        lane.waiting.append(generation)
        self._work.set()
        return generation

    async def _advance_forever(self) -> None:
        """Runs until cancelled; sleeps while no request is on its way."""
        while True:
            await self._work.wait()
            self._leaving = [lane for lane in self._leaving if lane.busy]
            busy = [*(lane for lane in self._lanes.values() if lane.busy), *self._leaving]
            if not busy:
                self._work.clear()
            for lane in busy:
                try:
                    lane.advance()
                except Exception as error:  # a fault of one policy must not silence the others
                    lane.fail(error)
                await asyncio.sleep(0)

    def _open(self, policy_hash: str, folder: Path) -> Lane:
        weights = PolicyWeights.open(folder, policy_hash)
        with contextlib.closing(weights):
            decoder = Decoder(weights, slots=self._slots, max_context=self._max_context)
        kind = (decoder.chunk_shape, decoder.dtype)
        if kind not in self._prefixes:
            self._prefixes[kind] = PrefixCache(*kind)
        return Lane(policy_hash, decoder, ChatEncoder.load(folder), self._prefixes[kind])
