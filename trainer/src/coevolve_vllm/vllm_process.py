"""vLLM as a child process: one base model, and the LoRA adapters that it is told to load."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import secrets
import signal
import socket
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from coevolve_policy_server.api_errors import ApiError

from .policy_folder import Base

RANKS = (8, 16, 32, 64, 128, 256, 320, 512)  # those for which vLLM has room to offer
START_S = 1800.0  # weights of some hundred GB are read, and kernels compiled
STOP_S = 3.0  # whoever stops this server does not wait much longer


@dataclass(frozen=True)
class Command:
    """How vLLM is started."""

    python: Path
    """Interpreter with vLLM."""
    arguments: tuple[str, ...]
    """Added to vLLM's command line; they win over ours."""
    max_context: int
    """Most tokens of prompt and answer."""
    threads: int | None
    """Of vLLM's build for CPUs; None: as many as it likes."""
    on_cpu: bool
    """Whether it is vLLM's build for CPUs."""


class Child:
    """A vLLM that answers. Its address and key are known to this process alone."""

    def __init__(self, process: asyncio.subprocess.Process, client: httpx.AsyncClient, base: Base) -> None:
        self._process, self._client = process, client
        self.base = base
        self.context = 0
        """Longest prompt plus answer in tokens."""
        self.max_rank = 0
        """Largest rank of adapters that it has room for; 0: it takes none."""

    @classmethod
    async def start(cls, command: Command, base: Base, *, rank: int) -> Child:
        """Starts vLLM with room for adapters of `rank`, and waits until it answers.

        Raises:
            ApiError: 500 when it ends, or does not answer within half an hour.
        """
        if rank > RANKS[-1]:
            raise ApiError(400, "invalid_policy", f"lora_rank: found {rank}, expected at most {RANKS[-1]}")
        port, key = _free_port(), secrets.token_hex(16)
        context = min(command.max_context, base.positions)
        max_rank = next(room for room in RANKS if rank <= room) if rank else 0
        process = await asyncio.create_subprocess_exec(
            *_arguments(command, base, port=port, context=context, max_rank=max_rank),
            env=os.environ | _variables(command) | {"VLLM_API_KEY": key},
            stdout=sys.stderr,
            start_new_session=True,  # so that its own processes can be stopped with it
            preexec_fn=_end_with_parent,
        )
        client = httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{port}",
            headers={"Authorization": f"Bearer {key}"},
            timeout=httpx.Timeout(None, connect=5.0),
            limits=httpx.Limits(max_connections=None),
            trust_env=False,
        )
        child = cls(process, client, base)
        child.context, child.max_rank = context, max_rank
        try:
            await child._wait_until_it_answers()
        except BaseException:
            await child.stop()
            raise
        return child

    @property
    def alive(self) -> bool:
        return self._process.returncode is None

    async def post(self, path: str, body: dict[str, Any]) -> Any:
        """What vLLM answers; a text where it is no JSON.

        Raises:
            ApiError: with the status and the words of vLLM; 503 when it has ended.
        """
        try:
            reply = await self._client.post(path, json=body)
        except httpx.HTTPError as error:
            problem = f"vLLM gave no answer: {type(error).__name__} {error}"
            raise ApiError(503, "engine_ended", problem, retry_after=1) from error
        if reply.status_code != 200:
            raise ApiError(reply.status_code, "vllm_error", f"vLLM answered: {_message(reply)}")
        return reply.json() if "json" in reply.headers.get("content-type", "") else reply.text

    async def stop(self) -> None:
        """Ends vLLM and all that it started."""
        await self._client.aclose()
        if self.alive:
            self._process.send_signal(signal.SIGTERM)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait(), STOP_S)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        await self._process.wait()

    async def _wait_until_it_answers(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(START_S):
                while self.alive:
                    with contextlib.suppress(httpx.HTTPError):
                        if (await self._client.get("/health", timeout=5.0)).status_code == 200:
                            return
                    await asyncio.sleep(0.25)
        end = f"ended with code {self._process.returncode}" if not self.alive else "did not answer in time"
        raise ApiError(500, "engine_failed", f"vLLM {end}; its output is in this server's log")


def _arguments(command: Command, base: Base, *, port: int, context: int, max_rank: int) -> list[str]:
    options: dict[str, object] = {
        "--host": "127.0.0.1",
        "--port": port,
        "--model": base.folder,
        "--served-model-name": base.model_hash,
        "--dtype": base.dtype,
        "--max-model-len": context,
        "--generation-config": "vllm",  # sampling is the request's, never a file's
        "--uvicorn-log-level": "warning",
    }
    flags = []
    if max_rank:
        options |= {"--max-loras": 4, "--max-cpu-loras": 16, "--max-lora-rank": max_rank}
        flags += ["--enable-lora"]
    if command.on_cpu:
        # vLLM 0.32 ends with "CPU Generator does not use offset" when it cuts the prompt of a seeded request
        options |= {"--max-num-batched-tokens": max(context, 4096)}
        flags += ["--no-enable-chunked-prefill", "--enforce-eager"]
    return [
        str(command.python),
        *("-m", "vllm.entrypoints.openai.api_server"),  # the `vllm` command of the CPU package does not start
        *(str(word) for option in options.items() for word in option),
        *flags,
        *command.arguments,
    ]


def _variables(command: Command) -> dict[str, str]:
    """vLLM's own variables; those that are set already are left as they are, but for the first two."""
    fixed = {"VLLM_ALLOW_RUNTIME_LORA_UPDATING": "True", "HF_HUB_OFFLINE": "1"}
    defaults = {
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_CPU_KVCACHE_SPACE": "1",  # GiB
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",  # it is not alone on the machine
    }
    if command.threads is not None:
        fixed["OMP_NUM_THREADS"] = str(command.threads)
    return {name: os.environ.get(name, value) for name, value in defaults.items()} | fixed


def _end_with_parent() -> None:
    """Has the kernel end vLLM when this process dies, however it does."""
    if sys.platform == "linux":
        PR_SET_PDEATHSIG = 1
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def _message(reply: httpx.Response) -> str:
    try:
        body = reply.json()
        return str(body.get("error", body).get("message", reply.text))
    except (ValueError, AttributeError):
        return f"{reply.status_code} {reply.text[:200]}"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
