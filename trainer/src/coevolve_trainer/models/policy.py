"""Loads and stores policies: any causal language model of transformers, whole or as an adapter.

Transformers is imported inside functions: the import takes 2.3 s, which a job with a wrong input should not
wait for.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors.torch import save
from torch import Tensor, nn

from ..failures import bad_input
from ..files.atomic_files import canonical_json, sha256_of_file, write_synced
from ..files.policy_files import MANIFEST, base_model_of
from ..settings import ComputeSettings
from .adapter import (
    ADAPTER_CONFIG,
    adapter_config,
    adapter_parameters,
    add_adapter,
    has_adapter,
    is_adapter,
    restore_adapter,
)
from .weight_files import ADAPTER_WEIGHTS, read_weights, write_weights

if TYPE_CHECKING:
    from transformers import PreTrainedModel

CONFIG, GENERATION_CONFIG = "config.json", "generation_config.json"
TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "chat_format.json")


def load_policy(
    policy: Path, compute: ComputeSettings, device: torch.device, *, trainable: bool
) -> PreTrainedModel:
    """Loads the policy in `policy`, for training or, frozen, for inference.

    Trained weights are float32. Frozen weights, of a frozen policy or under an adapter, have the
    type of `compute.precision`. With `adapter: lora` a whole policy gets a new adapter, whose
    weights depend only on torch's seed; a policy that is an adapter remains one.

    Raises:
        JobFailure: `bad-input` for missing or unexpected weights, for an adapter without its base model
            beside it, or when `compute` requires an adapter of another shape.
    """
    adapted = is_adapter(policy)
    adds_adapter = trainable and not adapted and compute.adapter == "lora"
    frozen_dtype = torch.bfloat16 if compute.precision == "bfloat16" else torch.float32
    trains_all_weights = trainable and not adapted and not adds_adapter
    model = load_model(base_model_of(policy), torch.float32 if trains_all_weights else frozen_dtype)
    if adapted:
        restore_adapter(model, policy, compute)
        load_weights(model, read_weights(policy))
    elif adds_adapter:
        add_adapter(model, compute)
    if not trainable:
        model.requires_grad_(False)
    model.train(trainable)
    torch.nn.Module.to(model, device)  # transformers' own `to` has incomplete types
    return model


def load_reference_model(
    policy: Path, compute: ComputeSettings, base: Path, device: torch.device
) -> PreTrainedModel:
    """Loads the frozen reference of a policy that is trained from `base`.

    Where all weights are trained, the reference's weights are float32 in both precisions: otherwise a policy
    would differ from itself as its reference.
    """
    trains_all_weights = compute.adapter == "none" and not is_adapter(base)
    storage = replace(compute, precision="float32") if trains_all_weights else compute
    return load_policy(policy, storage, device, trainable=False)


def trainable_parameters(model: nn.Module) -> list[nn.Parameter]:
    """Returns the parameters that the optimizer changes, in the order of the model."""
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


def weight_tensors(model: PreTrainedModel) -> dict[str, Tensor]:
    """Returns the trained weights by their names in the file: the adapter's tensors, or all of the model's.

    They share the memory of the model, and may be shards. A tied output head is only there as the embedding.
    """
    if has_adapter(model):
        return {name: tensor.detach() for name, tensor in adapter_parameters(model).items()}
    tied = model.config.tie_word_embeddings
    state = model.state_dict()
    return {name: t.detach() for name, t in state.items() if not (tied and name == "lm_head.weight")}


def trained_weights(model: PreTrainedModel, *, is_kept: bool = True) -> dict[str, Tensor]:
    """Returns the `weight_tensors` in full, of a sharded model in host memory.

    Collective for a sharded model: call it on every rank. A rank with `is_kept` false gets nothing, so that
    it never holds more than one full tensor.
    """
    weights: dict[str, Tensor] = {}
    for name, tensor in weight_tensors(model).items():
        full = full_tensor(tensor)
        if is_kept:
            weights[name] = (full if full is tensor else full.cpu()).contiguous()
    return weights


def load_weights(model: PreTrainedModel, weights: Mapping[str, Tensor]) -> None:
    """Copies weights of `trained_weights` into the model, or a rank's shards into a sharded one.

    A tied head follows its embedding.

    Raises:
        ValueError: a weight is missing, unexpected or has another shape.
    """
    own = adapter_parameters(model) if has_adapter(model) else dict(model.state_dict())
    tied = {"lm_head.weight"} if model.config.tie_word_embeddings else set()
    missing, unexpected = own.keys() - weights.keys() - tied, weights.keys() - own.keys()
    if missing or unexpected:
        raise ValueError(
            f"weights do not match the model: missing {sorted(missing)}, unexpected {sorted(unexpected)}"
        )
    with torch.no_grad():
        for name, tensor in weights.items():
            target = local_tensor(own[name])
            if target.shape != tensor.shape:
                raise ValueError(f"{name}: found shape {list(tensor.shape)}, expected {list(target.shape)}")
            target.copy_(tensor)


def save_policy(
    model: PreTrainedModel, base: Path, folder: Path, weights: Mapping[str, Tensor] | None = None
) -> dict[str, object]:
    """Writes all files of a policy except its manifest; `base` is the policy from which training started.

    `weights` is `trained_weights(model)` if the caller has gathered it. Returns fields for the manifest:
    `model_hash`, the base model of an adapter; none for a whole policy.
    """
    for name in (*TOKENIZER_FILES, GENERATION_CONFIG):
        if (base / name).is_file():
            write_synced(folder / name, (base / name).read_bytes())
    tensors = dict(weights if weights is not None else trained_weights(model))
    if not has_adapter(model):
        write_model(model, folder, tensors)
        return {}
    model_hash = sha256_of_file(base_model_of(base) / MANIFEST)
    write_synced(folder / ADAPTER_CONFIG, canonical_json(adapter_config(model, model_hash)))
    write_synced(folder / ADAPTER_WEIGHTS, save(tensors, metadata={"format": "pt"}))
    return {"model_hash": model_hash}


def save_model(model: PreTrainedModel, folder: Path) -> None:
    """Writes configuration and weights of a new model."""
    write_model(model, folder)
    config = model.config
    generation = {"eos_token_id": config.eos_token_id, "pad_token_id": config.pad_token_id}
    write_synced(folder / GENERATION_CONFIG, canonical_json(generation))


def parameter_count(model: nn.Module) -> int:
    """Counts all parameters, including frozen ones and an adapter's; a tied head counts once."""
    return sum(parameter.numel() for parameter in model.parameters())


def load_model(folder: Path, dtype: torch.dtype | str) -> PreTrainedModel:
    """Loads the whole model in `folder` in the given type; `auto`: in the stored type."""
    from transformers import AutoConfig, AutoModelForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()
    config = AutoConfig.for_model(**json.loads((folder / CONFIG).read_bytes()))

    def load(**options: Any) -> Any:
        return AutoModelForCausalLM.from_pretrained(
            folder,
            config=config,
            dtype=dtype,
            local_files_only=True,
            use_safetensors=True,
            output_loading_info=True,
            **options,
        )

    try:
        loaded = load()
    except RuntimeError:
        # The error about tensors of other shapes names none of them; the report of a load without memory does
        _require_matching_weights(folder, load(ignore_mismatched_sizes=True, device_map="meta")[1])
        raise
    _require_matching_weights(folder, loaded[1])
    model: PreTrainedModel = loaded[0]
    return model


def _require_matching_weights(folder: Path, found: Mapping[str, Any]) -> None:
    """Raises `bad-input` unless the file has the tensors of the configuration, in their shapes."""
    shapes = [
        f"{name} of {list(stored)} instead of {list(own)}" for name, stored, own in found["mismatched_keys"]
    ]
    kinds = {"missing": found["missing_keys"], "unexpected": found["unexpected_keys"], "mismatched": shapes}
    for kind, names in kinds.items():
        if names:
            first, more = sorted(names)[:3], len(names) - 3
            listed = ", ".join(first) + (f" and {more} more" if more > 0 else "")
            raise bad_input(f"weights in {folder}", f"{kind}: {listed}", f"those that its {CONFIG} describes")


def write_model(model: PreTrainedModel, folder: Path, weights: Mapping[str, Tensor] | None = None) -> None:
    """Writes configuration and weights: `weights`, or the model's current ones."""
    config: dict[str, Any] = json.loads(model.config.to_json_string(use_diff=True))
    # Private fields contain the path from which the model was loaded
    config = {name: value for name, value in config.items() if not name.startswith("_")}
    config["architectures"] = [type(model).__name__]
    write_synced(folder / CONFIG, canonical_json(config))
    write_weights(folder, weights if weights is not None else trained_weights(model))


def full_tensor(tensor: Tensor) -> Tensor:
    """Returns the full tensor of a shard; collective for a sharded tensor."""
    gather = getattr(tensor, "full_tensor", None)  # only DTensor has this method
    return gather() if gather is not None else tensor


def local_tensor(tensor: Tensor) -> Tensor:
    """Returns this process's shard, in the same memory; a tensor that is not sharded as it is."""
    shard = getattr(tensor, "to_local", None)
    return shard() if shard is not None else tensor
