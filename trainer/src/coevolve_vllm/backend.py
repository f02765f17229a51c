"""A policy server backend that generates with vLLM.

A vLLM process has one base model at a time: a whole policy, or the model under adapters. It is started when
the first policy that needs the model is loaded. Other base models get it in turn (`turns.py`): new weights of
the same architecture are loaded into the running process, others into a new one. The policies of the previous
base model are unknown from then on, so that clients load them again.

Messages are converted to token ids here, by the trainer's encoder, and vLLM gets ids: its own templates would
interpret `<|im_end|>` in an observation as the end of a turn.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from pathlib import Path

from coevolve_policy_server.api_errors import ApiError, remaining_context, unknown_model
from coevolve_policy_server.chat_request import ChatRequest, encode_prompt
from coevolve_policy_server.completion import Completion
from coevolve_trainer.failures import JobFailure
from coevolve_trainer.files.policy_files import read_manifest
from coevolve_trainer.models.adapter import is_adapter

from .device_leases import DeviceLeases
from .policy_folder import PolicyFolder
from .slot import VllmSlot
from .turns import LINGER_S, Turns
from .vllm_command import SERVED_NAME, VllmCommand
from .vllm_process import VllmProcess


class VllmBackend:
    """Loads policies under their hashes and generates completions with vLLM.

    Args:
        devices: GPU indices of each vLLM process; empty where vLLM chooses them.
    """

    def __init__(
        self,
        command: VllmCommand,
        *,
        devices: Sequence[Sequence[int]] = ((),),
        leases: DeviceLeases | None = None,
        linger_s: float = LINGER_S,
    ) -> None:
        leases = leases or DeviceLeases(None)
        verified: dict[str, bool] = {}
        self._slots = [VllmSlot(command, leases, tuple(group), verified) for group in devices]
        self._turns = Turns(self._slots, linger_s=linger_s)

    @property
    def policies(self) -> Sequence[str]:
        return [policy for slot in self._slots for policy in slot.policies]

    def health(self) -> dict[str, object]:
        return {"vllm": [slot.health() for slot in self._slots]}

    @contextlib.asynccontextmanager
    async def turn(
        self, policy_hash: str, folder: Path, on_wait: Callable[[str], None]
    ) -> AsyncIterator[VllmSlot]:
        """Waits until a vLLM is free for the base model of a policy, and keeps it until the context ends.

        Raises:
            ApiError: 400 when the folder has no manifest.
        """
        try:
            base = str(read_manifest(folder)["model_hash"]) if is_adapter(folder) else policy_hash
        except (OSError, ValueError, KeyError) as error:
            raise _invalid_policy(folder, error) from error
        async with self._turns.hold(base, on_wait) as slot:
            yield slot

    async def load(self, policy_hash: str, folder: Path) -> None:
        """Loads the policy in `folder` under its hash; loading it again changes nothing.

        Raises:
            ApiError: 400 when the manifest's hash is not `policy_hash`, or a file does not match it;
                500 when vLLM does not start with it.
        """
        async with self.turn(policy_hash, folder, lambda _: None) as slot, slot.lock:
            if policy_hash in slot.policies:
                return
            policy = await _open_policy(folder, policy_hash, slot.base)
            vllm = await slot.serve(policy)
            if policy.lora_rank > 0:
                await _load_adapter(vllm, policy_hash, policy)
            slot.loaded[policy_hash] = policy

    async def unload(self, policy_hash: str) -> None:
        """Accepts no new request for the policy; returns after the running requests are completed."""
        slot = self._find(policy_hash)
        async with slot.lock:
            policy = slot.loaded.pop(policy_hash, None)
            await slot.wait_for_requests(policy_hash)
            if policy is not None and policy.lora_rank > 0 and slot.process is not None:
                await slot.process.post("/v1/unload_lora_adapter", {"lora_name": policy_hash})

    async def release(self, devices: Collection[int]) -> None:
        """Frees devices for a training job, whose lease keeps other turns away until it ends.

        Raises:
            ApiError: 409 while attempts have a turn on one of the devices.
        """
        slots = [slot for slot in self._slots if set(slot.devices) & set(devices)]
        for slot in slots:
            if self._turns.is_held(slot):
                raise ApiError(409, "devices_in_use", f"attempts with policy {(slot.base or '')[:12]}")
        for slot in slots:
            async with slot.lock:
                await slot.sleep()

    async def complete(self, request: ChatRequest) -> Completion:
        """Generates a completion.

        Raises:
            ApiError: 404 for an unknown model, 400 for a prompt beyond the context, vLLM's own status when it
                rejects the request, 503 when it has exited.
        """
        slot = self._find(request.model)
        policy, vllm = slot.loaded[request.model], slot.process
        assert vllm is not None
        prompt_ids = encode_prompt(policy.encoder, request)
        remaining = remaining_context(vllm.context, prompt_ids)
        body = {
            "model": request.model if policy.lora_rank > 0 else SERVED_NAME,
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
            "cache_salt": request.model,  # no policy reads the cached prefixes of another one's weights
        }
        async with slot.counted(request.model):
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
            await asyncio.gather(*(slot.stop() for slot in self._slots))

    def _find(self, policy_hash: str) -> VllmSlot:
        for slot in self._slots:
            if policy_hash in slot.policies:
                return slot
        raise unknown_model(policy_hash)


async def _open_policy(folder: Path, policy_hash: str, running_model: str | None) -> PolicyFolder:
    try:
        return await asyncio.to_thread(PolicyFolder.open, folder, policy_hash, running_model=running_model)
    except (JobFailure, OSError, ValueError, KeyError) as error:
        raise _invalid_policy(folder, error) from error


def _invalid_policy(folder: Path, error: Exception) -> ApiError:
    return ApiError(400, "invalid_policy", f"cannot load {folder}: {error}", param="lora_path")


async def _load_adapter(vllm: VllmProcess, policy_hash: str, policy: PolicyFolder) -> None:
    # The name is the hash of verified files, so an adapter of that name is always the same adapter
    body = {"lora_name": policy_hash, "lora_path": str(policy.folder)}
    try:
        await vllm.post("/v1/load_lora_adapter", body)
    except ApiError as error:
        if "already been loaded" not in str(error):
            raise
