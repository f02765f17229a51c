"""The weights of a policy: as stored, or, for an adapter, merged into the base model."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import torch
from safetensors import safe_open
from torch import Tensor

from coevolve_trainer.failures import bad_input
from coevolve_trainer.files.policy_files import read_manifest, verify_policy
from coevolve_trainer.models.adapter import ADAPTER_CONFIG, is_adapter
from coevolve_trainer.models.weight_files import ADAPTER_WEIGHTS, weight_paths

EMBEDDING = "model.embed_tokens.weight"
PREFIX = "base_model.model."  # peft's prefix of the model's layer names
# Options of adapters that are not W + scale * B A
UNSUPPORTED = ("use_dora", "use_rslora", "rank_pattern", "alpha_pattern", "modules_to_save", "fan_in_fan_out")


_embeddings: WeakValueDictionary[str, Tensor] = WeakValueDictionary()  # model hash -> embedding, while loaded


class PolicyWeights:
    """Tensors by their names in transformers. All adapters of a model share its embedding in memory; their
    other weights are merged, so that a completion takes as long as with the base model.

    The model computes in the stored type of its embedding if that is bfloat16, else in float32.
    """

    def __init__(self, model: Path, model_hash: str, adapter: Path | None) -> None:
        self.model = model
        with ExitStack() as files:
            self._tensors = _readers(weight_paths(model), files)
            self._lora = _LoraWeights(adapter, files) if adapter else None
            self._files = files.pop_all()
        stored = self._tensors[EMBEDDING]()
        self.dtype = torch.bfloat16 if stored.dtype == torch.bfloat16 else torch.float32
        # Always float32: it may be the output head too, and logits must not be rounded
        self.embedding = _embeddings.setdefault(model_hash, stored.float())
        """[V, D], shared."""
        if self._lora is not None:
            self._lora.require_layers_in(self._tensors)

    @classmethod
    def open(cls, folder: Path, policy_hash: str) -> PolicyWeights:
        """Verifies and opens the policy in `folder`, for an adapter with its base model.

        Raises:
            JobFailure: `bad-input` when a manifest or a file of either does not match its hash.
        """
        verify_policy(folder, policy_hash, field="lora_path")
        if not is_adapter(folder):
            return cls(folder, policy_hash, None)
        model_hash = read_manifest(folder).get("model_hash")
        if not isinstance(model_hash, str):
            raise bad_input(f"{folder}: model_hash", model_hash, "the hash of the adapter's base model")
        model = folder.parent / model_hash
        verify_policy(model, model_hash, field="model")
        return cls(model, model_hash, folder)

    def find(self, name: str) -> Tensor | None:
        """Returns the tensor in the computing type, with the adapter's product added; None if missing."""
        if name not in self._tensors:
            return None
        stored = self._tensors[name]()
        if self._lora is not None:
            stored = self._lora.add_to(name, stored)
        return stored.to(self.dtype)

    def get(self, name: str) -> Tensor:
        if (found := self.find(name)) is None:
            raise bad_input(f"{self.model}: weights", f"no {name}", "all weights of config.json's model")
        return found

    def close(self) -> None:
        self._files.close()


class _LoraWeights:
    """The weights of a LoRA adapter."""

    def __init__(self, adapter: Path, files: ExitStack) -> None:
        config: dict[str, Any] = json.loads((adapter / ADAPTER_CONFIG).read_bytes())
        if config.get("peft_type") != "LORA":
            raise bad_input("peft_type", config.get("peft_type"), "LORA")
        for name in UNSUPPORTED:
            if config.get(name):
                raise bad_input(f"{adapter / ADAPTER_CONFIG}: {name}", config[name], "a plain LoRA adapter")
        self._scale = config["lora_alpha"] / config["r"]
        self._tensors = _readers(weight_paths(adapter), files)

    def require_layers_in(self, model: dict[str, Callable[[], Tensor]]) -> None:
        """Raises `bad-input` when a tensor belongs to no layer of the model."""
        for name in self._tensors:
            layer, _, rest = name.removeprefix(PREFIX).rpartition(".lora_")
            if f"{layer}.weight" not in model or rest not in ("A.weight", "B.weight"):
                raise bad_input(f"{ADAPTER_WEIGHTS}: {name}", "no such layer", "a layer of the base model")

    def add_to(self, name: str, weight: Tensor) -> Tensor:
        """Returns W + alpha / r * B A in float32; `weight` unchanged if the adapter does not include it."""
        layer = PREFIX + name.removesuffix(".weight")
        if f"{layer}.lora_A.weight" not in self._tensors:
            return weight
        down, up = (self._tensors[f"{layer}.lora_{side}.weight"]().float() for side in "AB")
        return torch.addmm(weight.float(), up, down, alpha=self._scale)


def _readers(paths: Iterable[Path], files: ExitStack) -> dict[str, Callable[[], Tensor]]:
    """Returns a function per tensor that reads it; the files stay open until `files` is closed."""
    readers: dict[str, Callable[[], Tensor]] = {}
    for path in paths:
        file = files.enter_context(safe_open(path, framework="pt"))
        readers |= {name: partial(file.get_tensor, name) for name in file.keys()}  # noqa: SIM118 (no mapping)
    return readers
