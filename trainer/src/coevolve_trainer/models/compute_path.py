"""Resolves the settings that depend on device and model: precision, and whose passes compute it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import torch

from ..failures import bad_input
from ..files.policy_files import base_model_of
from ..settings import ComputeSettings
from .kernels.block_attention import unsupported_by_blocks

S = TypeVar("S", bound=ComputeSettings)


def resolve_compute(settings: S, device: torch.device, policy: Path) -> S:
    """Returns the settings without `auto` in `precision` and `kernels`, for a policy on a device.

    Raises:
        JobFailure: `bad-input` when `kernels: cpu` cannot compute the policy, or cannot be compiled.
    """
    on_cuda = device.type == "cuda"
    kernels = settings.kernels
    obstacle = "a GPU: these passes were measured on CPUs only" if on_cuda else _unsupported(policy)
    if kernels == "auto":
        kernels = "cpu" if obstacle is None and settings.compile == "off" else "transformers"
    if kernels == "cpu" and obstacle is not None:
        raise bad_input("settings.kernels", f"cpu with {obstacle}", "auto or transformers")
    if kernels == "cpu" and settings.compile == "on":
        raise bad_input("settings.kernels", "cpu with compile: on", "auto or transformers")
    return resolve_precision(replace(settings, kernels=kernels), device)


def resolve_precision(settings: S, device: torch.device) -> S:
    """Returns the settings without `auto` in `precision`."""
    if settings.precision != "auto":
        return settings
    return replace(settings, precision="bfloat16" if device.type == "cuda" else "float32")


def _unsupported(policy: Path) -> str | None:
    from transformers import AutoConfig

    config: Any = AutoConfig.for_model(**json.loads((base_model_of(policy) / "config.json").read_bytes()))
    return unsupported_by_blocks(config)
