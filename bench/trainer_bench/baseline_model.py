"""Loads the policy for the baselines: with transformers, and peft for an adapter."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from coevolve_trainer.chat.encoder import ChatEncoder
from transformers import AutoModelForCausalLM

from .accelerations import VARIANT
from .request import Request


def load(request: Request) -> Any:
    """Loads the model; trained weights are float32, an adapter's base model has the precision's type."""
    policy, model = Path(request.policy), base_model_folder(request)
    uses_flash = request.trainer == VARIANT and "flash-attention" in request.accelerations
    attention = {"attn_implementation": "flash_attention_2"} if uses_flash else {}
    if model == policy:
        return AutoModelForCausalLM.from_pretrained(policy, dtype=torch.float32, **attention)
    from peft import PeftModel

    frozen = torch.bfloat16 if request.precision == "bfloat16" else torch.float32
    base_model = AutoModelForCausalLM.from_pretrained(model, dtype=frozen, **attention)
    return PeftModel.from_pretrained(base_model, policy, is_trainable=True)


def base_model_folder(request: Request) -> Path:
    """Returns the policy's folder; for an adapter, the folder of its base model."""
    policy = Path(request.policy)
    if not (policy / "adapter_config.json").exists():
        return policy
    manifest = json.loads((policy / "manifest.json").read_bytes())
    return policy.parent / str(manifest["model_hash"])


def pad_id(request: Request) -> int:
    return ChatEncoder.load(Path(request.policy)).pad_id
