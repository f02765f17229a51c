"""A place for one vLLM process: starts it, changes its base model, and frees its devices."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from coevolve_policy_server.api_errors import ApiError

from .device_leases import DeviceLeases
from .policy_folder import BaseModel, PolicyFolder
from .vllm_command import VllmCommand
from .vllm_process import VllmProcess


@dataclass
class VllmSlot:
    """At most one vLLM, on the devices of this slot. Callers of methods that change it hold `lock`."""

    command: VllmCommand
    leases: DeviceLeases
    devices: tuple[int, ...] = ()
    """Indices of GPUs; empty: those that vLLM chooses, or none."""
    verified: dict[str, bool] = field(default_factory=dict)
    """Ways to load weights into a running process -> whether a new process gave the same answers."""
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
        if process is None or not process.is_running or policy.lora_rank > process.max_lora_rank:
            return await self._restart(policy)
        is_same = self.base == model.model_hash
        if is_same and not process.is_asleep:
            return process
        is_loaded = process.max_lora_rank == 0 or not is_same
        way = f"{'wake' if process.is_asleep else 'replace'} {_shape(model)}"
        if is_loaded and (_shape(process.base_model) != _shape(model) or process.max_lora_rank > 0):
            return await self._restart(policy)
        if is_loaded and self.verified.get(way) is False:
            return await self._restart(policy)
        self.loaded.clear()
        await self.wait_for_requests()
        try:
            await (process.wake(model) if process.is_asleep else process.replace_weights(model))
        except ApiError:  # such as 404 from a vLLM without these routes
            return await self._restart(policy)
        return process if not is_loaded or way in self.verified else await self._compare(way, policy)

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

    async def _compare(self, way: str, policy: PolicyFolder) -> VllmProcess:
        """Starts vLLM with the weights that the process has loaded, and compares the answers of both.

        vLLM 0.32 for CPUs keeps the old output head of a model whose head and embeddings are tied, and
        reports success. So each way to load weights into a running process is used only after it has been
        compared once.
        """
        assert self.process is not None
        loaded = await self.process.probe()
        process = await self._restart(policy)
        self.verified[way] = loaded is not None and _are_close(loaded, await process.probe())
        if not self.verified[way]:
            print("vLLM loads new weights wrongly: it is restarted for each policy", file=sys.stderr)
        return process

    async def _restart(self, policy: PolicyFolder) -> VllmProcess:
        """Starts vLLM with the base model of `policy` and a rank that fits its and the earlier adapters."""
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


def _shape(model: BaseModel) -> str:
    """Returns a text that is equal for models that differ only in their weights."""
    config: dict[str, object] = json.loads((model.folder / "config.json").read_bytes())
    unrelated = ("_name_or_path", "transformers_version")
    related = {key: value for key, value in config.items() if key not in unrelated}
    return json.dumps([model.dtype, related], sort_keys=True)


def _are_close(one: Sequence[float], other: Sequence[float] | None) -> bool:
    """Other weights change log-probabilities by nats, another kernel by less than 0.05 in bfloat16."""
    return other is not None and all(abs(a - b) < 0.05 for a, b in zip(one, other, strict=True))
