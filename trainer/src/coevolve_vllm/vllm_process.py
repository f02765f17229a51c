"""vLLM as a child process with one base model, into which LoRA adapters are loaded."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import secrets
import signal
import socket
import sys
from collections.abc import Sequence
from typing import Any

import httpx

from coevolve_policy_server.api_errors import ApiError

from .policy_folder import BaseModel
from .vllm_command import (
    LORA_RANKS,
    SERVED_NAME,
    VllmCommand,
    command_line,
    device_arguments,
    environment_variables,
)

START_TIMEOUT_S = 1800.0  # it reads up to several hundred GB of weights and compiles kernels
STOP_TIMEOUT_S = 3.0  # shorter than the timeout of the process that stops this server


class VllmProcess:
    """A running vLLM. Only this process has its address and key."""

    def __init__(
        self, process: asyncio.subprocess.Process, client: httpx.AsyncClient, base_model: BaseModel
    ) -> None:
        self._process, self._client = process, client
        self.base_model = base_model
        self.context = 0
        """Max tokens of prompt plus completion."""
        self.max_lora_rank = 0
        """Max rank of adapters; 0 if adapters are disabled."""
        self.is_asleep = False

    @classmethod
    async def start(
        cls, command: VllmCommand, base_model: BaseModel, *, lora_rank: int, devices: Sequence[int]
    ) -> VllmProcess:
        """Starts vLLM for adapters of at least `lora_rank` and waits until it is healthy.

        Args:
            devices: indices of its GPUs; empty for all.

        Raises:
            ApiError: 500 when it exits, or is not healthy within half an hour.
        """
        if lora_rank > LORA_RANKS[-1]:
            expected = f"at most {LORA_RANKS[-1]}"
            raise ApiError(400, "invalid_policy", f"lora_rank: found {lora_rank}, expected {expected}")
        port, key = _free_port(), secrets.token_hex(16)
        context = min(command.max_context, base_model.positions)
        max_lora_rank = next(rank for rank in LORA_RANKS if lora_rank <= rank) if lora_rank else 0
        process = await asyncio.create_subprocess_exec(
            *command_line(command, base_model, port=port, context=context, max_lora_rank=max_lora_rank),
            *device_arguments(command, devices),
            *command.arguments,  # the last value of an option is used
            env=os.environ | environment_variables(command, devices) | {"VLLM_API_KEY": key},
            stdout=sys.stderr,
            start_new_session=True,  # so that its child processes can be killed as a group
            preexec_fn=_terminate_with_parent,
        )
        client = httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{port}",
            headers={"Authorization": f"Bearer {key}"},
            timeout=httpx.Timeout(None, connect=5.0),
            limits=httpx.Limits(max_connections=None),
            trust_env=False,
        )
        vllm = cls(process, client, base_model)
        vllm.context, vllm.max_lora_rank = context, max_lora_rank
        try:
            await vllm._wait_until_healthy()
        except BaseException:
            await vllm.stop()
            raise
        return vllm

    @property
    def is_running(self) -> bool:
        return self._process.returncode is None

    async def post(self, path: str, body: dict[str, Any]) -> Any:
        """Returns vLLM's response, parsed if it is JSON, else as text.

        Raises:
            ApiError: with vLLM's status and message; 503 when it has exited.
        """
        try:
            response = await self._client.post(path, json=body)
        except httpx.HTTPError as error:
            problem = f"vLLM sent no response: {type(error).__name__} {error}"
            raise ApiError(503, "engine_ended", problem, retry_after=1) from error
        if response.status_code != 200:
            raise ApiError(response.status_code, "vllm_error", f"vLLM responded: {_message(response)}")
        return response.json() if "json" in response.headers.get("content-type", "") else response.text

    async def sleep(self) -> None:
        """Frees the devices.

        The base model of adapters is kept in host memory. A whole policy is dropped, because training usually
        replaces it.

        Raises:
            ApiError: when vLLM cannot sleep.
        """
        await self.post(f"/sleep?level={self._sleep_level}&mode=wait", {})
        self.is_asleep = True

    async def wake(self, model: BaseModel) -> None:
        """Ends the sleep. A process without adapters continues with the weights of `model`.

        Raises:
            ApiError: when vLLM cannot wake up, or cannot load the weights.
        """
        if self._sleep_level == 1:
            await self.post("/wake_up", {})
        else:
            await self.post("/wake_up?tags=weights", {})
            await self._load_weights(model)
            await self.post("/wake_up?tags=kv_cache", {})
        self.is_asleep = False

    async def replace_weights(self, model: BaseModel) -> None:
        """Replaces the weights by another whole policy with the same architecture, while no request runs.

        Raises:
            ApiError: when vLLM cannot load them; its weights are undefined then.
        """
        await self.post("/pause?mode=wait", {})  # also drops the cached prefixes of the old weights
        await self._load_weights(model)
        await self.post("/resume", {})

    async def probe(self) -> list[float] | None:
        """Returns log-probabilities of a fixed text and its continuation; None if vLLM fails."""
        body = {
            "model": SERVED_NAME,
            "prompt": list(range(8, 24)),
            "max_tokens": 4,
            "temperature": 0,
            "ignore_eos": True,
            "logprobs": 0,
            "echo": True,
            "cache_salt": secrets.token_hex(8),
        }
        try:
            response = await self.post("/v1/completions", body)
        except ApiError:
            return None
        values = response["choices"][0]["logprobs"]["token_logprobs"]
        return [value for value in values if value is not None]  # the first token has none

    @property
    def _sleep_level(self) -> int:
        return 1 if self.max_lora_rank else 2

    async def _load_weights(self, model: BaseModel) -> None:
        body = {"method": "reload_weights", "kwargs": {"weights_path": str(model.folder)}}
        await self.post("/collective_rpc", body)
        self.base_model = model

    async def stop(self) -> None:
        """Terminates vLLM and its child processes."""
        await self._client.aclose()
        if self.is_running:
            self._process.send_signal(signal.SIGTERM)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait(), STOP_TIMEOUT_S)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        await self._process.wait()

    async def _wait_until_healthy(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(START_TIMEOUT_S):
                while self.is_running:
                    with contextlib.suppress(httpx.HTTPError):
                        if (await self._client.get("/health", timeout=5.0)).status_code == 200:
                            return
                    await asyncio.sleep(0.25)
        reason = "start timed out" if self.is_running else f"exited with code {self._process.returncode}"
        raise ApiError(500, "engine_failed", f"vLLM {reason}; its output is in this server's log")


def _terminate_with_parent() -> None:
    """Makes the kernel terminate vLLM when this process exits for any reason."""
    if sys.platform == "linux":
        PR_SET_PDEATHSIG = 1
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def _message(response: httpx.Response) -> str:
    try:
        body = response.json()
        return str(body.get("error", body).get("message", response.text))
    except (ValueError, AttributeError):
        return f"{response.status_code} {response.text[:200]}"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
