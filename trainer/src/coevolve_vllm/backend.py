"""Policies served by vLLM.

One base model runs at a time: the model beneath an adapter, or a whole policy itself. It is started when the
first policy that needs it is loaded, and gives way when a policy of another base is; never while it has
requests. The policies of a base that stopped are unknown from then on, so that clients load them again.

Messages become token ids here, by the trainer's own encoder, and vLLM is given ids: its own templates read
`<|im_end|>` in the words of an environment as the end of a turn.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from coevolve_policy_server.api_errors import ApiError, room_left, unknown_model
from coevolve_policy_server.chat_request import ChatRequest
from coevolve_policy_server.completion import Answer
from coevolve_trainer.failures import JobFailure

from .policy_folder import PolicyFolder
from .vllm_process import Child, Command


class Front:
    """Loads policies under their hashes and lets vLLM generate with them."""

    def __init__(self, command: Command) -> None:
        self._command = command
        self._child: Child | None = None
        self._starting = False
        self._served: dict[str, PolicyFolder] = {}
        self._in_flight: Counter[str] = Counter()  # requests by policy
        self._answered = asyncio.Condition()
        self._changing = asyncio.Lock()

    @property
    def policies(self) -> Sequence[str]:
        return list(self._served) if self._child is not None and self._child.alive else []

    def health(self) -> dict[str, object]:
        child = self._child
        state = "starting" if self._starting else "idle"
        if child is not None:
            state = "serving" if child.alive else "ended"
        return {"vllm": {"state": state, "base": child and child.base.model_hash}}

    async def load(self, policy_hash: str, folder: Path) -> None:
        """Serves the policy in `folder` under its hash; loading it again changes nothing.

        Raises:
            ApiError: 400 when the directory's manifest is not `policy_hash`, or a file is not the manifest's;
                500 when vLLM does not start with it.
        """
        async with self._changing:
            if policy_hash in self.policies:
                return
            child = self._child
            running = child.base.model_hash if child is not None and child.alive else None
            policy = await _opened(folder, policy_hash, running)
            if child is None or not _serves(child, policy):
                child = await self._restart(policy)
            if policy.rank > 0:
                await _load_adapter(child, policy_hash, policy)
            self._served[policy_hash] = policy

    async def unload(self, policy_hash: str) -> None:
        """Takes no new request for the policy; those on their way are finished first."""
        async with self._changing:
            policy = self._find(policy_hash)
            del self._served[policy_hash]
            await self._until_answered(policy_hash)
            if policy.rank > 0 and self._child is not None:
                await self._child.post("/v1/unload_lora_adapter", {"lora_name": policy_hash})

    async def complete(self, request: ChatRequest) -> Answer:
        """Answers a request.

        Raises:
            ApiError: 404 for an unknown model, 400 for a prompt beyond the context, vLLM's own status where
                it refuses, 503 when it has ended.
        """
        policy, child = self._find(request.model), self._child
        assert child is not None
        prompt = policy.encoder.prompt_ids(request.messages)
        room = room_left(child.context, prompt)
        body = {
            "model": request.model,
            "prompt": prompt,
            "max_tokens": min(request.max_tokens or room, room),
            "temperature": request.temperature,
            "top_p": request.top_p,
            "seed": request.seed % 2**63,
            "stop": list(request.stop),
            "stop_token_ids": list(policy.encoder.stop_ids),
            "ignore_eos": True,  # the encoder's stop ids are all that ends an answer
            "logprobs": 0,  # of the sampled token alone
            "return_token_ids": True,
        }
        async with self._counted(request.model):
            reply = await child.post("/v1/completions", body)
        (choice,) = reply["choices"]
        logprobs = choice["logprobs"]["token_logprobs"]
        if not all(isinstance(value, float) and math.isfinite(value) for value in logprobs):
            raise ApiError(500, "generation_failed", "the policy's log-probabilities are not finite")
        return Answer(prompt, choice["token_ids"], logprobs, choice["finish_reason"], policy.reader)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        try:
            yield
        finally:
            if self._child is not None:
                await self._child.stop()

    def _find(self, policy_hash: str) -> PolicyFolder:
        if policy_hash not in self.policies:
            raise unknown_model(policy_hash)
        return self._served[policy_hash]

    async def _restart(self, policy: PolicyFolder) -> Child:
        """vLLM with the base of `policy`, and room for its adapter and for those that it had room for."""
        rank = policy.rank
        old, self._child = self._child, None
        self._served.clear()
        self._starting = True
        try:
            if old is not None:
                if old.base.model_hash == policy.base.model_hash:
                    rank = max(rank, old.max_rank)
                await self._until_answered()
                await old.stop()
            self._child = await Child.start(self._command, policy.base, rank=rank)
        finally:
            self._starting = False
        return self._child

    @contextlib.asynccontextmanager
    async def _counted(self, policy_hash: str) -> AsyncIterator[None]:
        self._in_flight[policy_hash] += 1
        try:
            yield
        finally:
            self._in_flight[policy_hash] -= 1
            async with self._answered:
                self._answered.notify_all()

    async def _until_answered(self, policy_hash: str | None = None) -> None:
        """Waits for the requests of a policy, or of all."""

        def none_left() -> bool:
            left = self._in_flight.total() if policy_hash is None else self._in_flight[policy_hash]
            return left == 0

        async with self._answered:
            await self._answered.wait_for(none_left)


def _serves(child: Child, policy: PolicyFolder) -> bool:
    same = child.base.model_hash == policy.base.model_hash
    return child.alive and same and policy.rank <= child.max_rank


async def _opened(folder: Path, policy_hash: str, running: str | None) -> PolicyFolder:
    try:
        return await asyncio.to_thread(PolicyFolder.open, folder, policy_hash, running=running)
    except (JobFailure, OSError, ValueError, KeyError) as error:
        raise ApiError(400, "invalid_policy", f"cannot load {folder}: {error}", param="lora_path") from error


async def _load_adapter(child: Child, policy_hash: str, policy: PolicyFolder) -> None:
    # A name is a hash of the bytes and the bytes were verified: no other adapter can ever have it
    body = {"lora_name": policy_hash, "lora_path": str(policy.folder)}
    try:
        await child.post("/v1/load_lora_adapter", body)
    except ApiError as error:
        if "already been loaded" not in str(error):
            raise
