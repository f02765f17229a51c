"""Selects the engine of a job: this package's own loop, or TRL's trainers.

This module does not import torch when it is loaded: a job with a wrong input fails before that cost.
"""

from __future__ import annotations

import ctypes
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from .failures import bad_input
from .job import Job
from .settings import ComputeSettings, RlSettings, TrainSettings

INSTALL = "`npm run setup -- --with trl`"
PACKAGES = ("trl", "transformers", "accelerate", "peft", "torch")
"""The packages whose versions decide about the numbers of the engine trl."""


def with_resolved_engine(job: Job) -> Job:
    """Returns the job with its engine instead of `auto`, which is trl on CUDA if it is installed.

    Raises:
        JobFailure: `bad-input` when the engine does not have the method, the sharding or its packages.
    """
    settings = job.settings
    if not isinstance(settings, ComputeSettings):
        return job
    engine = settings.engine
    if engine == "auto":
        can_use_trl = isinstance(settings, TrainSettings) and not _has_builtin_settings(settings)
        engine = "trl" if can_use_trl and is_installed() and trains_on_cuda(settings) else "builtin"
    if engine == "trl":
        _require_trl(settings, job.method)
    elif settings.sharding == "deepspeed":
        raise bad_input("settings.sharding", "deepspeed with engine builtin", "fsdp, or engine trl")
    return replace(job, settings=replace(settings, engine=engine))


def trains_on_cuda(settings: ComputeSettings) -> bool:
    """Returns whether a job trains on a GPU; imports torch only on a machine with NVIDIA's driver."""
    if settings.device == "cpu":
        return False
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    import torch

    return torch.cuda.is_available()


def is_installed() -> bool:
    return find_spec("trl") is not None


def versions() -> dict[str, str]:
    """Returns the installed versions of the packages that decide a result of the engine trl."""
    names = (*PACKAGES, "deepspeed", "liger-kernel", "flash-attn")
    found: dict[str, str] = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _has_builtin_settings(settings: ComputeSettings) -> bool:
    return settings.kernels != "auto" or settings.compile == "on"


def _require_trl(settings: ComputeSettings, method: str) -> None:
    if isinstance(settings, RlSettings):
        raise bad_input(
            "settings.engine", "trl", f"builtin or auto: TRL has no {method} job of batches from outside"
        )
    if _has_builtin_settings(settings):
        found = f"trl with kernels {settings.kernels} and compile {settings.compile}"
        raise bad_input("settings.engine", found, "builtin, or kernels auto and compile off")
    if not is_installed():
        raise bad_input(
            "settings.engine", "trl, which is not installed", f"builtin, or TRL installed by {INSTALL}"
        )
    if settings.sharding in ("fsdp", "deepspeed"):
        _require_sharding(settings)


def _require_sharding(settings: ComputeSettings) -> None:
    """Accelerate would train unsharded copies without a warning where it cannot shard."""
    found = f"{settings.sharding} with engine trl"
    if not trains_on_cuda(settings):
        raise bad_input("settings.sharding", f"{found} on a CPU", "none or ddp, or fsdp with engine builtin")
    if settings.processes == 1 and settings.sharding == "fsdp":
        raise bad_input("settings.sharding", f"{found} and one process", "none, or several processes")
    if settings.sharding == "deepspeed" and find_spec("deepspeed") is None:
        raise bad_input(
            "settings.sharding", "deepspeed, which is not installed", "fsdp, or `pip install deepspeed`"
        )
