"""Low-rank adapters (LoRA) over frozen weights, in peft's layers and file format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from ..failures import bad_input
from ..settings import ComputeSettings

if TYPE_CHECKING:
    from transformers import PreTrainedModel

ADAPTER_CONFIG = "adapter_config.json"
ATTENTION = ("q_proj", "k_proj", "v_proj", "o_proj")
_NAME = "default"
_PREFIX = "base_model.model."  # peft's prefix of tensor names in files


def is_adapter(policy: Path) -> bool:
    return (policy / ADAPTER_CONFIG).is_file()


def has_adapter(model: nn.Module) -> bool:
    return getattr(model, "peft_config", None) is not None


def add_adapter(model: PreTrainedModel, compute: ComputeSettings) -> None:
    """Adds a new adapter to `model`, whose own weights are frozen; its weights depend only on torch's seed.

    Source: Hu et al. 2021, arXiv:2106.09685, section 4.1: the second factor is initially 0, so the policy is
    initially equal to its base model.
    """
    _inject(
        model,
        {
            "r": compute.lora_rank,
            "lora_alpha": compute.lora_alpha,
            "lora_dropout": compute.lora_dropout,
            "target_modules": _targets(model, compute.lora_targets),
        },
    )


def restore_adapter(model: PreTrainedModel, policy: Path, compute: ComputeSettings) -> None:
    """Adds the layers of the adapter in `policy` to `model`; the caller loads its weights.

    Raises:
        JobFailure: `bad-input` when `compute` requires an adapter of another shape.
    """
    config: dict[str, Any] = json.loads((policy / ADAPTER_CONFIG).read_bytes())
    settings = {
        "lora_rank": (compute.lora_rank, config["r"]),
        "lora_alpha": (compute.lora_alpha, config["lora_alpha"]),
        "lora_targets": (_targets(model, compute.lora_targets), sorted(config["target_modules"])),
    }
    for name, (required, found) in settings.items():
        if compute.adapter == "lora" and required != found:
            raise bad_input(f"settings.{name}", required, f"{found}, the value of the base, an adapter")
    shape = {name: config[name] for name in ("r", "lora_alpha", "target_modules")}
    _inject(model, {**shape, "lora_dropout": compute.lora_dropout})


def adapter_config(model: PreTrainedModel, model_hash: str) -> dict[str, object]:
    """Returns the configuration for peft and vLLM, with the hash of the base model instead of its path."""
    config: Any = model.peft_config[_NAME]
    return {
        "base_model_name_or_path": model_hash,
        "bias": "none",
        "fan_in_fan_out": False,
        "inference_mode": True,
        "lora_alpha": _as_integer(config.lora_alpha),
        "lora_dropout": config.lora_dropout,
        "modules_to_save": None,
        "peft_type": "LORA",
        "r": config.r,
        "target_modules": sorted(config.target_modules),
        "task_type": "CAUSAL_LM",
    }


def adapter_parameters(model: nn.Module) -> dict[str, Tensor]:
    """Returns the adapter's tensors by their names in peft's files."""
    return {
        _PREFIX + name.replace(f".{_NAME}.", "."): parameter
        for name, parameter in model.named_parameters()
        if f".{_NAME}." in name
    }


def _inject(model: PreTrainedModel, shape: dict[str, Any]) -> None:
    from peft import LoraConfig, inject_adapter_in_model
    from peft.tuners.lora import LoraLayer

    config = LoraConfig(task_type="CAUSAL_LM", bias="none", **shape)
    inject_adapter_in_model(config, model, _NAME)
    for module in model.modules():
        if isinstance(module, LoraLayer):
            # Autocast selects the type of each product; peft's cast to float32 would only copy activations
            module.cast_input_dtype_enabled = False
    for parameter in adapter_parameters(model).values():
        parameter.data = parameter.data.to(torch.float32)


def _as_integer(value: float) -> float | int:
    """Converts a whole number to an integer: vLLM declares an adapter's alpha as an integer."""
    return int(value) if value == int(value) else value


def _targets(model: nn.Module, kind: str) -> list[str]:
    """Returns the last parts of the names of the linear layers to adapt, sorted."""
    names = [name for name, module in model.named_modules() if isinstance(module, nn.Linear)]
    # In a model with an adapter, the weights of a layer are in its child `base_layer`
    parts = {name.removesuffix(".base_layer").rsplit(".", 1)[-1] for name in names if ".lora_" not in name}
    found = sorted(parts - {"lm_head"} if kind == "all-linear" else parts & set(ATTENTION))
    if not found:
        raise bad_input("settings.lora_targets", kind, f"layers of this model: {', '.join(sorted(parts))}")
    return found
