"""A place for one vLLM process: starts it, changes its base model, and frees its devices."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from coevolve_policy_server.api_errors import ApiError

from .device_leases import DeviceLeases
from .policy_folder import BaseModel, PolicyFolder
from .vllm_process import VllmCommand, VllmProcess


@dataclass
class VllmSlot:
    """At most one vLLM, on the devices of this slot. Callers of methods that change it hold `lock`."""

    command: VllmCommand
    leases: DeviceLeases
    devices: tuple[int, ...] = ()
    """Indices of GPUs; empty: those that vLLM chooses, or none."""
    loaded: dict[str, PolicyFolder] = field(default_factory=dict)
    """Policies that can be requested; empty while vLLM sleeps."""
    process: VllmProcess | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _is_starting: bool = False
    _running: Counter[str] = field(default_factory=Counter)  # policy hash -> requests
    _request_ended: asyncio.Condition = field(default_factory=asyncio.Condition)

    @property
    def blocker(self) -> str | None:
        return self.leases.holder(self.devices)

    @property
    def policies(self) -> list[str]:
        return list(self.loaded) if self.process is not None and self.process.is_running else []

    @property
    def base(self) -> str | None:
        """Hash of the model whose weights vLLM has; None without a running process."""
        process = self.process
        return process.base_model.model_hash if process is not None and process.is_running else None

    def health(self) -> dict[str, object]:
        state = "starting" if self._is_starting else "idle"
        if self.process is not None:
            state = "serving" if self.process.is_running else "ended"
            state = "asleep" if self.process.is_running and self.process.is_asleep else state
        base = self.process and self.process.base_model.model_hash
        return {"state": state, "base": base, "devices": list(self.devices)}

    async def serve(self, policy: PolicyFolder) -> VllmProcess:
        """Returns vLLM with the base model of `policy`: the running one if possible, else a new one.

        Policies of another base model are unknown from then on.
        """
        process, model = self.process, policy.base_model
        if process is not None and process.is_running and policy.lora_rank <= process.max_lora_rank:
            is_same = self.base == model.model_hash
            if is_same and not process.is_asleep:
                return process
            if is_same or (process.max_lora_rank == 0 and _have_same_shape(process.base_model, model)):
                self.loaded.clear()
                await self.wait_for_requests()
                with contextlib.suppress(ApiError):  # such as 404 from a vLLM without these routes
                    await (process.wake(model) if process.is_asleep else process.replace_weights(model))
                    return process
        return await self._restart(policy)

    async def sleep(self) -> None:
        """Frees the devices after the running requests: vLLM sleeps if it can, else it is stopped."""
        self.loaded.clear()
        await self.wait_for_requests()
        process = self.process
        if process is None or process.is_asleep:
            return
        try:
            if self.command.on_cpu:
                await self.stop()
            else:
                await process.sleep()
        except ApiError:
            await self.stop()

    async def stop(self) -> None:
        process, self.process = self.process, None
        if process is not None:
            await process.stop()

    @contextlib.asynccontextmanager
    async def counted(self, policy_hash: str) -> AsyncIterator[None]:
        self._running[policy_hash] += 1
        try:
            yield
        finally:
            self._running[policy_hash] -= 1
            async with self._request_ended:
                self._request_ended.notify_all()

    async def wait_for_requests(self, policy_hash: str | None = None) -> None:
        """Waits until no request of a policy, or of any policy, is running."""

        def is_idle() -> bool:
            return (self._running.total() if policy_hash is None else self._running[policy_hash]) == 0

        async with self._request_ended:
            await self._request_ended.wait_for(is_idle)

    async def _restart(self, policy: PolicyFolder) -> VllmProcess:
        """Starts vLLM with the base model of `policy`, for its adapter and those of the previous process."""
        lora_rank, old = policy.lora_rank, self.process
        if old is not None and old.base_model.model_hash == policy.base_model.model_hash:
            lora_rank = max(lora_rank, old.max_lora_rank)
        self.loaded.clear()
        self._is_starting = True
        try:
            await self.wait_for_requests()
            await self.stop()
            self.process = await VllmProcess.start(
                self.command, policy.base_model, lora_rank=lora_rank, devices=self.devices
            )
        finally:
            self._is_starting = False
        return self.process


def _have_same_shape(one: BaseModel, other: BaseModel) -> bool:
    """Returns whether two models differ only in their weights, so that vLLM can load one into the other."""
    return one.dtype == other.dtype and _shape(one) == _shape(other)


def _shape(model: BaseModel) -> dict[str, object]:
    config: dict[str, object] = json.loads((model.folder / "config.json").read_bytes())
    unrelated = ("_name_or_path", "transformers_version")
    return {key: value for key, value in config.items() if key not in unrelated}
