"""The loaded policies, and the loop that generates their completions.

Model and HTTP server deliberately share one thread: two threads would only contend for the interpreter's
lock. The loop yields after each pass, so a socket waits at most one pass (2 ms at 0.4 M parameters).
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

from .api_errors import ApiError, remaining_context, unknown_model
from .chat_request import ChatRequest, encode_prompt
from .completion import Completion
from .decoder import Decoder
from .prefix_cache import PrefixCache
from .sampling import Sampler
from .scheduler import Generation, Scheduler
from .weights import PolicyWeights


class Engine:
    """Loads policies under their hashes and generates completions with them."""

    def __init__(self, *, slots: int, max_context: int | None, max_waiting: int) -> None:
        self._slots, self._max_context, self._max_waiting = slots, max_context, max_waiting
        self._schedulers: dict[str, Scheduler] = {}
        self._unloading: list[Scheduler] = []  # unloaded policies with running requests
        # By shape and type of a chunk
        self._prefix_caches: dict[tuple[tuple[int, ...], torch.dtype], PrefixCache] = {}
        self._has_work = asyncio.Event()

    @property
    def policies(self) -> Sequence[str]:
        return list(self._schedulers)

    async def load(self, policy_hash: str, folder: Path) -> None:
        """Loads the policy in `folder` under its hash; loading it again changes nothing.

        Raises:
            ApiError: 400 when the manifest's hash is not `policy_hash`, or a file does not match it.
        """
        if policy_hash in self._schedulers:
            return
        try:
            self._schedulers[policy_hash] = self._open(policy_hash, folder)
        except (JobFailure, OSError, ValueError, KeyError, SafetensorError) as error:
            raise ApiError(
                400, "invalid_policy", f"cannot load {folder}: {error}", param="lora_path"
            ) from error

    async def unload(self, policy_hash: str) -> None:
        """Accepts no new request for the policy; running requests are completed."""
        self._unloading.append(self._find(policy_hash))
        del self._schedulers[policy_hash]

    async def complete(self, request: ChatRequest) -> Completion:
        """Queues a request and waits for its completion; a cancelled request frees its slot.

        Raises:
            ApiError: 404 for an unknown model, 400 for a prompt beyond the context, 429 for a full queue, 500
                when the policy's logits are not finite.
        """
        scheduler = self._find(request.model)
        generation = self._submit(scheduler, request)
        try:
            await generation.done
        except asyncio.CancelledError:
            scheduler.remove(generation)
            raise
        except Exception as error:
            raise ApiError(500, "generation_failed", f"{type(error).__name__}: {error}") from error
        return Completion(
            prompt_ids=generation.prompt_ids,
            token_ids=generation.token_ids,
            logprobs=generation.logprobs,
            finish_reason=generation.finish_reason,
            decoder=scheduler.completion_decoder,
        )

    def health(self) -> dict[str, object]:
        return {}

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        loop = asyncio.create_task(self._run_loop())
        yield
        loop.cancel()

    def _find(self, policy_hash: str) -> Scheduler:
        if policy_hash not in self._schedulers:
            raise unknown_model(policy_hash)
        return self._schedulers[policy_hash]

    def _submit(self, scheduler: Scheduler, request: ChatRequest) -> Generation:
        if len(scheduler.waiting) >= self._max_waiting:
            raise ApiError(429, "overloaded", f"{len(scheduler.waiting)} requests are waiting", retry_after=1)
        prompt_ids = encode_prompt(scheduler.encoder, request)
        remaining = remaining_context(scheduler.context, prompt_ids)
        generation = Generation(
            prompt_ids=prompt_ids,
            max_tokens=min(request.max_tokens or remaining, remaining),
            sampler=Sampler.seeded(request.seed, temperature=request.temperature, top_p=request.top_p),
            stop=request.stop,
            done=asyncio.get_running_loop().create_future(),
        )
        scheduler.waiting.append(generation)
        self._has_work.set()
        return generation

    async def _run_loop(self) -> None:
        """Runs until cancelled; sleeps while there is no request."""
        while True:
            await self._has_work.wait()
            self._unloading = [scheduler for scheduler in self._unloading if scheduler.is_busy]
            busy = [*(s for s in self._schedulers.values() if s.is_busy), *self._unloading]
            if not busy:
                self._has_work.clear()
            for scheduler in busy:
                try:
                    scheduler.advance()
                except Exception as error:  # an error of one policy must not affect the others
                    scheduler.fail(error)
                await asyncio.sleep(0)

    def _open(self, policy_hash: str, folder: Path) -> Scheduler:
        weights = PolicyWeights.open(folder, policy_hash)
        with contextlib.closing(weights):
            decoder = Decoder(weights, slots=self._slots, max_context=self._max_context)
        chunk = (decoder.chunk_shape, decoder.dtype)
        if chunk not in self._prefix_caches:
            self._prefix_caches[chunk] = PrefixCache(*chunk)
        return Scheduler(policy_hash, decoder, ChatEncoder.load(folder), self._prefix_caches[chunk])
