"""A policy server backend that generates with vLLM.

One base model runs at a time: that of an adapter, or a whole policy. vLLM is started when the first policy
that needs the model is loaded, and stopped when a policy with another base model is loaded, after its running
requests are completed. The policies of a stopped model are unknown from then on, so that clients load them
again.

Messages are converted to token ids here, by the trainer's encoder, and vLLM gets ids: its own templates would
interpret `<|im_end|>` in an observation as the end of a turn.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from coevolve_policy_server.api_errors import ApiError, remaining_context, unknown_model
from coevolve_policy_server.chat_request import ChatRequest, encode_prompt
from coevolve_policy_server.completion import Completion
from coevolve_trainer.failures import JobFailure

from .policy_folder import PolicyFolder
from .vllm_process import VllmCommand, VllmProcess


class VllmBackend:
    """Loads policies under their hashes and generates completions with vLLM."""

    def __init__(self, command: VllmCommand) -> None:
        self._command = command
        self._vllm: VllmProcess | None = None
        self._is_starting = False
        self._loaded: dict[str, PolicyFolder] = {}
        self._running_requests: Counter[str] = Counter()  # policy hash -> count
        self._request_ended = asyncio.Condition()
        self._load_lock = asyncio.Lock()

    @property
    def policies(self) -> Sequence[str]:
        return list(self._loaded) if self._vllm is not None and self._vllm.is_running else []

    def health(self) -> dict[str, object]:
        vllm = self._vllm
        state = "starting" if self._is_starting else "idle"
        if vllm is not None:
            state = "serving" if vllm.is_running else "ended"
        return {"vllm": {"state": state, "base": vllm and vllm.base_model.model_hash}}

    async def load(self, policy_hash: str, folder: Path) -> None:
        """Loads the policy in `folder` under its hash; loading it again changes nothing.

        Raises:
            ApiError: 400 when the manifest's hash is not `policy_hash`, or a file does not match it;
                500 when vLLM does not start with it.
        """
        async with self._load_lock:
            if policy_hash in self.policies:
                return
            vllm = self._vllm
            running_model = vllm.base_model.model_hash if vllm is not None and vllm.is_running else None
            policy = await _open_policy(folder, policy_hash, running_model)
            if vllm is None or not _can_serve(vllm, policy):
                vllm = await self._restart(policy)
            if policy.lora_rank > 0:
                await _load_adapter(vllm, policy_hash, policy)
            self._loaded[policy_hash] = policy

    async def unload(self, policy_hash: str) -> None:
        """Accepts no new request for the policy; returns after the running requests are completed."""
        async with self._load_lock:
            policy = self._find(policy_hash)
            del self._loaded[policy_hash]
            await self._wait_for_requests(policy_hash)
            if policy.lora_rank > 0 and self._vllm is not None:
                await self._vllm.post("/v1/unload_lora_adapter", {"lora_name": policy_hash})

    async def complete(self, request: ChatRequest) -> Completion:
        """Generates a completion.

        Raises:
            ApiError: 404 for an unknown model, 400 for a prompt beyond the context, vLLM's own status when it
                rejects the request, 503 when it has exited.
        """
        policy, vllm = self._find(request.model), self._vllm
        assert vllm is not None
        prompt_ids = encode_prompt(policy.encoder, request)
        remaining = remaining_context(vllm.context, prompt_ids)
        body = {
            "model": request.model,
            "prompt": prompt_ids,
            "max_tokens": min(request.max_tokens or remaining, remaining),
            "temperature": request.temperature,
            "top_p": request.top_p,
            "seed": request.seed % 2**63,
            "stop": list(request.stop),
            "stop_token_ids": list(policy.encoder.stop_ids),
            "ignore_eos": True,  # only the encoder's stop ids end a completion
            "logprobs": 0,  # only of the sampled token
            "return_token_ids": True,
        }
        async with self._counted(request.model):
            response = await vllm.post("/v1/completions", body)
        (choice,) = response["choices"]
        logprobs = choice["logprobs"]["token_logprobs"]
        if not all(isinstance(value, float) and math.isfinite(value) for value in logprobs):
            raise ApiError(500, "generation_failed", "the policy's log-probabilities are not finite")
        return Completion(prompt_ids, choice["token_ids"], logprobs, choice["finish_reason"], policy.decoder)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        try:
            yield
        finally:
            if self._vllm is not None:
                await self._vllm.stop()

    def _find(self, policy_hash: str) -> PolicyFolder:
        if policy_hash not in self.policies:
            raise unknown_model(policy_hash)
        return self._loaded[policy_hash]

    async def _restart(self, policy: PolicyFolder) -> VllmProcess:
        """Starts vLLM with the base model of `policy`, for its adapter and those of the previous process."""
        lora_rank = policy.lora_rank
        old, self._vllm = self._vllm, None
        self._loaded.clear()
        self._is_starting = True
        try:
            if old is not None:
                if old.base_model.model_hash == policy.base_model.model_hash:
                    lora_rank = max(lora_rank, old.max_lora_rank)
                await self._wait_for_requests()
                await old.stop()
            self._vllm = await VllmProcess.start(self._command, policy.base_model, lora_rank=lora_rank)
        finally:
            self._is_starting = False
        return self._vllm

    @contextlib.asynccontextmanager
    async def _counted(self, policy_hash: str) -> AsyncIterator[None]:
        self._running_requests[policy_hash] += 1
        try:
            yield
        finally:
            self._running_requests[policy_hash] -= 1
            async with self._request_ended:
                self._request_ended.notify_all()

    async def _wait_for_requests(self, policy_hash: str | None = None) -> None:
        """Waits until no request of a policy, or of any policy, is running."""

        def is_idle() -> bool:
            running = self._running_requests
            return (running.total() if policy_hash is None else running[policy_hash]) == 0

        async with self._request_ended:
            await self._request_ended.wait_for(is_idle)


def _can_serve(vllm: VllmProcess, policy: PolicyFolder) -> bool:
    has_model = vllm.base_model.model_hash == policy.base_model.model_hash
    return vllm.is_running and has_model and policy.lora_rank <= vllm.max_lora_rank


async def _open_policy(folder: Path, policy_hash: str, running_model: str | None) -> PolicyFolder:
    try:
        return await asyncio.to_thread(PolicyFolder.open, folder, policy_hash, running_model=running_model)
    except (JobFailure, OSError, ValueError, KeyError) as error:
        raise ApiError(400, "invalid_policy", f"cannot load {folder}: {error}", param="lora_path") from error


async def _load_adapter(vllm: VllmProcess, policy_hash: str, policy: PolicyFolder) -> None:
    # The name is the hash of verified files, so an adapter of that name is always the same adapter
    body = {"lora_name": policy_hash, "lora_path": str(policy.folder)}
    try:
        await vllm.post("/v1/load_lora_adapter", body)
    except ApiError as error:
        if "already been loaded" not in str(error):
            raise
