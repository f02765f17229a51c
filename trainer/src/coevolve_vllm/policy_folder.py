"""What vLLM must know of a policy: which model to start with, and which adapter to load beside it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from safetensors import safe_open

from coevolve_policy_server.completion import AnswerReader
from coevolve_trainer.chat.encoder import ChatEncoder
from coevolve_trainer.failures import bad_input
from coevolve_trainer.files.policy_files import read_manifest, verify_policy
from coevolve_trainer.models.adapter import ADAPTER_CONFIG, is_adapter
from coevolve_trainer.models.weight_files import weight_paths


@dataclass(frozen=True)
class Base:
    """The model that vLLM runs, a whole policy."""

    folder: Path
    model_hash: str
    dtype: str
    """`bfloat16` or `float32`, as the small server chooses: the type in which the weights are stored."""
    positions: int
    """Longest prompt plus answer that the model was made for, in tokens."""


@dataclass(frozen=True)
class PolicyFolder:
    """A verified policy. `rank` is that of its adapter, 0 for a whole policy."""

    folder: Path
    base: Base
    rank: int
    encoder: ChatEncoder
    reader: AnswerReader

    @classmethod
    def open(cls, folder: Path, policy_hash: str, *, running: str | None) -> PolicyFolder:
        """Reads a policy after it, and the model beneath an adapter, were verified.

        The model that is `running` is not verified again: vLLM has read its bytes.

        Raises:
            JobFailure: `bad-input` when a manifest or a file of either is not what its hash says.
        """
        verify_policy(folder, policy_hash, field="lora_path")
        encoder = ChatEncoder.load(folder)
        model, model_hash, rank = folder, policy_hash, 0
        if is_adapter(folder):
            model_hash = str(read_manifest(folder).get("model_hash"))
            model = folder.parent / model_hash
            if model_hash != running:
                verify_policy(model, model_hash, field="model")
            rank = json.loads((folder / ADAPTER_CONFIG).read_bytes())["r"]
        return cls(folder, _base(model, model_hash), rank, encoder, AnswerReader(encoder))


def _base(model: Path, model_hash: str) -> Base:
    config = json.loads((model / "config.json").read_bytes())
    return Base(model, model_hash, _stored_type(model), config["max_position_embeddings"])


def _stored_type(model: Path) -> str:
    with safe_open(weight_paths(model)[0], framework="pt") as file:
        for name in file.keys():  # noqa: SIM118 (the file is no mapping)
            return "bfloat16" if file.get_slice(name).get_dtype() == "BF16" else "float32"
    raise bad_input(f"weights in {model}", "none", "tensors")
