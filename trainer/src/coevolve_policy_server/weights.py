"""The weights of a policy: of a full one as they are stored, of an adapter merged into the model beneath."""

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
PREFIX = "base_model.model."  # peft's, before the model's own name of a layer
# Kinds of adapter that would need more than W + scale * B A
REFUSED = ("use_dora", "use_rslora", "rank_pattern", "alpha_pattern", "modules_to_save", "fan_in_fan_out")


_embeddings: WeakValueDictionary[str, Tensor] = WeakValueDictionary()  # by model hash, while one is served


class PolicyWeights:
    """Tensors by the names of transformers. The embedding of one model is in memory once, however many
    adapters of it are served; their other weights are merged, so that an answer costs what the model costs.

    The model computes in the type in which its embedding is stored: bfloat16, or else float32.
    """

    def __init__(self, model: Path, model_hash: str, adapter: Path | None) -> None:
        self.model = model
        with ExitStack() as files:
            self._tensors = _readers(weight_paths(model), files)
            self._updates = _Updates(adapter, files) if adapter else None
            self._files = files.pop_all()
        stored = self._tensors[EMBEDDING]()
        self.dtype = torch.bfloat16 if stored.dtype == torch.bfloat16 else torch.float32
        # In float32 whichever it is: it serves as the output head too, and logits are not to be rounded
        self.embedding = _embeddings.setdefault(model_hash, stored.float())
        """[V, D], shared."""
        if self._updates is not None:
            self._updates.require_known(self._tensors)

    @classmethod
    def open(cls, folder: Path, policy_hash: str) -> PolicyWeights:
        """Opens the policy in `folder` after it, and the model beneath an adapter, were verified.

        Raises:
            JobFailure: `bad-input` when a manifest or a file of either is not what its hash says.
        """
        verify_policy(folder, policy_hash, field="lora_path")
        if not is_adapter(folder):
            return cls(folder, policy_hash, None)
        model_hash = read_manifest(folder).get("model_hash")
        if not isinstance(model_hash, str):
            raise bad_input(f"{folder}: model_hash", model_hash, "the hash of the model beneath the adapter")
        model = folder.parent / model_hash
        verify_policy(model, model_hash, field="model")
        return cls(model, model_hash, folder)

    def find(self, name: str) -> Tensor | None:
        """The tensor in the type the model computes in, with what the adapter adds; None: there is none."""
        if name not in self._tensors:
            return None
        stored = self._tensors[name]()
        if self._updates is not None:
            stored = self._updates.applied(name, stored)
        return stored.to(self.dtype)

    def get(self, name: str) -> Tensor:
        if (found := self.find(name)) is None:
            raise bad_input(f"{self.model}: weights", f"no {name}", "the weights that config.json implies")
        return found

    def close(self) -> None:
        self._files.close()


class _Updates:
    """A LoRA adapter: what is added to the weights of linear layers."""

    def __init__(self, adapter: Path, files: ExitStack) -> None:
        config: dict[str, Any] = json.loads((adapter / ADAPTER_CONFIG).read_bytes())
        if config.get("peft_type") != "LORA":
            raise bad_input("peft_type", config.get("peft_type"), "LORA")
        for name in REFUSED:
            if config.get(name):
                raise bad_input(f"{adapter / ADAPTER_CONFIG}: {name}", config[name], "a plain LoRA adapter")
        self._scale = config["lora_alpha"] / config["r"]
        self._tensors = _readers(weight_paths(adapter), files)

    def require_known(self, model: dict[str, Callable[[], Tensor]]) -> None:
        for name in self._tensors:
            layer, _, rest = name.removeprefix(PREFIX).rpartition(".lora_")
            if f"{layer}.weight" not in model or rest not in ("A.weight", "B.weight"):
                raise bad_input(f"{ADAPTER_WEIGHTS}: {name}", "no such layer", "LoRA of the model beneath")

    def applied(self, name: str, weight: Tensor) -> Tensor:
        """W + alpha / r * B A, in float32; `weight` itself where the adapter has nothing for it."""
        layer = PREFIX + name.removesuffix(".weight")
        if f"{layer}.lora_A.weight" not in self._tensors:
            return weight
        down, up = (self._tensors[f"{layer}.lora_{side}.weight"]().float() for side in "AB")
        return torch.addmm(weight.float(), up, down, alpha=self._scale)


def _readers(paths: Iterable[Path], files: ExitStack) -> dict[str, Callable[[], Tensor]]:
    """For every tensor in the files what reads it; the files stay open until `files` is closed."""
    readers: dict[str, Callable[[], Tensor]] = {}
    for path in paths:
        file = files.enter_context(safe_open(path, framework="pt"))
        readers |= {name: partial(file.get_tensor, name) for name in file.keys()}  # noqa: SIM118 (no mapping)
    return readers
