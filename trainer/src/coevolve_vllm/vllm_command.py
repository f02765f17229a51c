"""The command line and the environment variables of vLLM."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .policy_folder import BaseModel

LORA_RANKS = (8, 16, 32, 64, 128, 256, 320, 512)  # supported values of vLLM's --max-lora-rank
SERVED_NAME = "base"
"""Name of a whole policy in vLLM, whose weights can be replaced; adapters have their hashes as names."""
MEMORY_SHARE = 0.9
"""Share of a device's memory for vLLM; the rest is for CUDA contexts."""


@dataclass(frozen=True)
class VllmCommand:
    """The command line of vLLM."""

    python: Path
    """Interpreter with vLLM."""
    arguments: tuple[str, ...]
    """Appended to the command line, so that they override ours."""
    max_context: int
    """Max tokens of prompt plus completion."""
    threads: int | None
    """Threads of vLLM's CPU build; None for its default."""
    on_cpu: bool
    """True for vLLM's CPU build, which has no sleep mode."""


def command_line(
    command: VllmCommand, base_model: BaseModel, *, port: int, context: int, max_lora_rank: int
) -> list[str]:
    """Returns the command line; `device_arguments` adds the options that depend on the device."""
    options: dict[str, object] = {
        "--host": "127.0.0.1",
        "--port": port,
        "--model": base_model.folder,
        "--served-model-name": SERVED_NAME,
        # float32 only where its products are as fast: on a CPU, for weights that were trained in float32
        "--dtype": base_model.dtype if command.on_cpu else "bfloat16",
        "--max-model-len": context,
        "--generation-config": "vllm",  # sampling parameters come from the request, never from a file
        "--uvicorn-log-level": "warning",
    }
    flags = []
    if max_lora_rank:
        options |= {"--max-loras": 4, "--max-cpu-loras": 16, "--max-lora-rank": max_lora_rank}
        flags += ["--enable-lora"]
    if command.on_cpu:
        # vLLM 0.32 crashes with "CPU Generator does not use offset" when it chunks the prompt of a seeded
        # request
        options |= {"--max-num-batched-tokens": max(context, 4096)}
        flags += ["--no-enable-chunked-prefill", "--enforce-eager"]
    return [
        str(command.python),
        *("-m", "vllm.entrypoints.openai.api_server"),  # the `vllm` command of the CPU package does not start
        *(str(word) for option in options.items() for word in option),
        *flags,
    ]


def device_arguments(command: VllmCommand, devices: Sequence[int]) -> list[str]:
    sleep = [] if command.on_cpu else ["--enable-sleep-mode"]
    if not devices:
        return sleep
    share = ["--gpu-memory-utilization", str(MEMORY_SHARE)]
    return [*sleep, *share, "--tensor-parallel-size", str(len(devices))]


def environment_variables(command: VllmCommand, devices: Sequence[int]) -> dict[str, str]:
    """Returns vLLM's environment variables; the fixed ones override existing ones."""
    fixed = {"VLLM_ALLOW_RUNTIME_LORA_UPDATING": "True", "HF_HUB_OFFLINE": "1"}
    fixed["VLLM_SERVER_DEV_MODE"] = "1"  # routes for sleep and for new weights
    if devices:
        fixed["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, devices))
        fixed["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"  # the order of nvidia-smi
    defaults = {
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_CPU_KVCACHE_SPACE": "1",  # GiB
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",  # other processes run on the same cores
    }
    if command.threads is not None:
        fixed["OMP_NUM_THREADS"] = str(command.threads)
    return {name: os.environ.get(name, value) for name, value in defaults.items()} | fixed
