"""Reads the parts of a policy that vLLM needs: the base model to start with, and the adapter to load."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from safetensors import safe_open

from coevolve_policy_server.completion import CompletionDecoder
from coevolve_trainer.chat.encoder import ChatEncoder
from coevolve_trainer.failures import bad_input
from coevolve_trainer.files.policy_files import read_manifest, verify_policy
from coevolve_trainer.models.adapter import ADAPTER_CONFIG, is_adapter
from coevolve_trainer.models.weight_files import weight_paths


@dataclass(frozen=True)
class BaseModel:
    """The model that vLLM is started with, a whole policy."""

    folder: Path
    model_hash: str
    dtype: str
    """Type for serving on a CPU: `bfloat16` if weights were stored or trained in it, else `float32`."""
    positions: int
    """Max tokens of prompt plus completion that the model supports."""


@dataclass(frozen=True)
class PolicyFolder:
    """A verified policy. `lora_rank` is 0 for a whole policy."""

    folder: Path
    base_model: BaseModel
    lora_rank: int
    encoder: ChatEncoder
    decoder: CompletionDecoder

    @classmethod
    def open(cls, folder: Path, policy_hash: str, *, running_model: str | None) -> PolicyFolder:
        """Verifies and reads a policy, for an adapter with its base model.

        The model that vLLM is running is not verified again: vLLM has already read its files.

        Raises:
            JobFailure: `bad-input` when a manifest or a file of either does not match its hash.
        """
        verify_policy(folder, policy_hash, field="lora_path")
        encoder = ChatEncoder.load(folder)
        model, model_hash, lora_rank = folder, policy_hash, 0
        if is_adapter(folder):
            model_hash = str(read_manifest(folder).get("model_hash"))
            model = folder.parent / model_hash
            if model_hash != running_model:
                verify_policy(model, model_hash, field="model")
            lora_rank = json.loads((folder / ADAPTER_CONFIG).read_bytes())["r"]
        return cls(folder, _base_model(model, model_hash), lora_rank, encoder, CompletionDecoder(encoder))


def _base_model(model: Path, model_hash: str) -> BaseModel:
    config = json.loads((model / "config.json").read_bytes())
    settings = read_manifest(model).get("settings")
    is_half = isinstance(settings, dict) and settings.get("precision") == "bfloat16"
    dtype = "bfloat16" if is_half else _stored_type(model)
    return BaseModel(model, model_hash, dtype, config["max_position_embeddings"])


def _stored_type(model: Path) -> str:
    with safe_open(weight_paths(model)[0], framework="pt") as file:
        for name in file.keys():  # noqa: SIM118 (the file is no mapping)
            return "bfloat16" if file.get_slice(name).get_dtype() == "BF16" else "float32"
    raise bad_input(f"weights in {model}", "none", "tensors")
