"""Loads and stores policies: any causal language model of transformers, whole or as an adapter beside one.

Transformers is imported late: the import costs 2.3 s, which a job with a wrong input should not pay.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors.torch import save
from torch import Tensor, nn

from ..failures import bad_input
from ..files.atomic_files import canonical_json, sha256_of_file, write_synced
from ..files.policy_files import MANIFEST, model_beneath
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
    """The policy in `policy`, ready to be trained or, frozen, to be asked.

    What is trained is float32. What is frozen has the type of `compute.precision`: all of a frozen policy,
    and what lies beneath an adapter. With `adapter: lora` a whole policy gets a fresh adapter, whose weights
    depend on torch's seed alone; a policy that is an adapter stays one.

    Raises:
        JobFailure: `bad-input` when weights are missing or too many, when the model beneath an adapter is not
            beside it, or when `compute` asks for an adapter of another shape.
    """
    adapted = is_adapter(policy)
    fresh = trainable and not adapted and compute.adapter == "lora"
    frozen = torch.bfloat16 if compute.precision == "bfloat16" else torch.float32
    whole = trainable and not adapted and not fresh
    model = load_model(model_beneath(policy), torch.float32 if whole else frozen)
    if adapted:
        restore_adapter(model, policy, compute)
        load_weights(model, read_weights(policy))
    elif fresh:
        add_adapter(model, compute)
    if not trainable:
        model.requires_grad_(False)
    model.train(trainable)
    torch.nn.Module.to(model, device)  # transformers' own is typed for its own devices only
    return model


def trainable_parameters(model: nn.Module) -> list[nn.Parameter]:
    """What the optimizer changes, in an order that depends on the model alone."""
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


def weights_of(model: PreTrainedModel) -> dict[str, Tensor]:
    """What training changes, by the names of its file: the adapter's tensors, or all of the model's.

    A tied output head is stored once, as the embedding. Sharded tensors are gathered: call it on every rank.
    """
    if has_adapter(model):
        named: Mapping[str, Tensor] = adapter_parameters(model)
    else:
        tied = model.config.tie_word_embeddings
        state = model.state_dict()
        named = {name: t for name, t in state.items() if not (tied and name == "lm_head.weight")}
    return {name: _whole(tensor.detach()).contiguous() for name, tensor in named.items()}


def load_weights(model: PreTrainedModel, weights: Mapping[str, Tensor]) -> None:
    """Copies what `weights_of` gave into the model; a tied head follows its embedding.

    Raises:
        ValueError: a weight is missing, unknown or of another shape.
    """
    own = adapter_parameters(model) if has_adapter(model) else dict(model.state_dict())
    tied = {"lm_head.weight"} if model.config.tie_word_embeddings else set()
    missing, unexpected = own.keys() - weights.keys() - tied, weights.keys() - own.keys()
    if missing or unexpected:
        raise ValueError(
            f"weights do not fit the model: missing {sorted(missing)}, unexpected {sorted(unexpected)}"
        )
    with torch.no_grad():
        for name, tensor in weights.items():
            if own[name].shape != tensor.shape:
                raise ValueError(
                    f"{name}: found shape {list(tensor.shape)}, expected {list(own[name].shape)}"
                )
            own[name].copy_(tensor)


def save_policy(
    model: PreTrainedModel, base: Path, folder: Path, weights: Mapping[str, Tensor] | None = None
) -> dict[str, object]:
    """Writes all of a policy but its manifest into `folder`; `base` is the policy that training began with.

    `weights` are `weights_of(model)`, where they have been gathered already. Returns the facts that the
    manifest must hold: `model_hash`, the model beneath an adapter; nothing for a whole policy.
    """
    for name in (*TOKENIZER_FILES, GENERATION_CONFIG):
        if (base / name).is_file():
            write_synced(folder / name, (base / name).read_bytes())
    tensors = dict(weights if weights is not None else weights_of(model))
    if not has_adapter(model):
        write_model(model, folder, tensors)
        return {}
    model_hash = sha256_of_file(model_beneath(base) / MANIFEST)
    write_synced(folder / ADAPTER_CONFIG, canonical_json(adapter_config(model, model_hash)))
    write_synced(folder / ADAPTER_WEIGHTS, save(tensors, metadata={"format": "pt"}))
    return {"model_hash": model_hash}


def save_model(model: PreTrainedModel, folder: Path) -> None:
    """Writes configuration and weights of a whole model that has no policy before it."""
    write_model(model, folder)
    config = model.config
    generation = {"eos_token_id": config.eos_token_id, "pad_token_id": config.pad_token_id}
    write_synced(folder / GENERATION_CONFIG, canonical_json(generation))


def autocast(compute: ComputeSettings, device: torch.device) -> AbstractContextManager[object]:
    """Around a forward pass: with `precision: bfloat16` its matrix products are in bfloat16."""
    if compute.precision == "float32":
        return nullcontext()
    return torch.autocast(device.type, dtype=torch.bfloat16)


def parameter_count(model: nn.Module) -> int:
    """All parameters, frozen ones and an adapter's included; a tied head counts once."""
    return sum(parameter.numel() for parameter in model.parameters())


def load_model(folder: Path, dtype: torch.dtype | str) -> PreTrainedModel:
    """The whole model in `folder` in the given type; `auto`: in the type in which it is stored."""
    from transformers import AutoConfig, AutoModelForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    config = AutoConfig.for_model(**json.loads((folder / CONFIG).read_bytes()))
    loaded: Any = AutoModelForCausalLM.from_pretrained(
        folder,
        config=config,
        dtype=dtype,
        attn_implementation="sdpa",
        local_files_only=True,
        use_safetensors=True,
        output_loading_info=True,
    )
    model: PreTrainedModel = loaded[0]
    for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        if loaded[1][kind]:
            raise bad_input(f"weights in {folder}", f"{kind}: {sorted(loaded[1][kind])}", "all, and no other")
    return model


def write_model(model: PreTrainedModel, folder: Path, weights: Mapping[str, Tensor] | None = None) -> None:
    """Writes configuration and weights: `weights`, or the model's own."""
    config: dict[str, Any] = json.loads(model.config.to_json_string(use_diff=True))
    # Names beginning so say whence the model was loaded: a path, and no part of it
    config = {name: value for name, value in config.items() if not name.startswith("_")}
    config["architectures"] = [type(model).__name__]
    write_synced(folder / CONFIG, canonical_json(config))
    write_weights(folder, weights if weights is not None else weights_of(model))


def _whole(tensor: Tensor) -> Tensor:
    gather = getattr(tensor, "full_tensor", None)  # of a tensor that fully_shard cut
    return gather() if gather is not None else tensor
