"""The policy as the baselines load it: in transformers, with peft around it where it is an adapter."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from coevolve_trainer.chat.encoder import ChatEncoder
from transformers import AutoModelForCausalLM

from .request import Request


def load(request: Request) -> Any:
    """What is trained is float32; what lies frozen beneath an adapter has the type of the precision."""
    policy, whole = Path(request.policy), whole_model(request)
    if whole == policy:
        return AutoModelForCausalLM.from_pretrained(policy, dtype=torch.float32)
    from peft import PeftModel

    frozen = torch.bfloat16 if request.precision == "bfloat16" else torch.float32
    beneath = AutoModelForCausalLM.from_pretrained(whole, dtype=frozen)
    return PeftModel.from_pretrained(beneath, policy, is_trainable=True)


def whole_model(request: Request) -> Path:
    """The policy's folder, or that of the model beneath it."""
    policy = Path(request.policy)
    if not (policy / "adapter_config.json").exists():
        return policy
    manifest = json.loads((policy / "manifest.json").read_bytes())
    return policy.parent / str(manifest["model_hash"])


def pad_id(request: Request) -> int:
    return ChatEncoder.load(Path(request.policy)).pad_id
