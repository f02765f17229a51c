"""Makes, loads and stores the decoder. The only module that needs transformers, and it is imported late:
the import costs 2.3 s, which a job with a wrong input should not pay."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors.torch import load_file, save

from ..files.durable import canonical_json, write_synced
from ..settings import InitSettings

if TYPE_CHECKING:
    from transformers.models.qwen3.modeling_qwen3 import Qwen3ForCausalLM

TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja")
WEIGHTS, CONFIG, GENERATION_CONFIG = "model.safetensors", "config.json", "generation_config.json"


def create_model(
    settings: InitSettings, *, vocabulary_size: int, pad_id: int, end_id: int
) -> Qwen3ForCausalLM:
    """A random decoder; the weights depend on torch's seed alone."""
    from transformers.models.qwen3.configuration_qwen3 import Qwen3Config
    from transformers.models.qwen3.modeling_qwen3 import Qwen3ForCausalLM

    config = Qwen3Config(
        vocab_size=vocabulary_size,
        hidden_size=settings.hidden_size,
        num_hidden_layers=settings.layers,
        num_attention_heads=settings.heads,
        num_key_value_heads=settings.kv_heads,
        head_dim=settings.head_dim,
        intermediate_size=settings.feed_forward_size,
        max_position_embeddings=settings.max_positions,
        initializer_range=settings.initializer_range,
        tie_word_embeddings=True,
        pad_token_id=pad_id,
        eos_token_id=end_id,
        bos_token_id=None,
        dtype="float32",
        architectures=["Qwen3ForCausalLM"],
    )
    return Qwen3ForCausalLM(config)


def load_model(policy: Path) -> Qwen3ForCausalLM:
    """The policy's weights in float32, attention by `sdpa`."""
    from transformers.models.qwen3.configuration_qwen3 import Qwen3Config
    from transformers.models.qwen3.modeling_qwen3 import Qwen3ForCausalLM

    config = Qwen3Config(**json.loads((policy / CONFIG).read_bytes()))
    config._attn_implementation = "sdpa"
    model = Qwen3ForCausalLM(config)
    load_weights(model, load_file(policy / WEIGHTS))
    return model


def save_model(model: Qwen3ForCausalLM, folder: Path) -> None:
    """Writes configuration and weights as transformers names them."""
    config: dict[str, Any] = json.loads(model.config.to_json_string(use_diff=True))
    generation = {"eos_token_id": config["eos_token_id"], "pad_token_id": config["pad_token_id"]}
    write_synced(folder / CONFIG, canonical_json(config))
    write_synced(folder / GENERATION_CONFIG, canonical_json(generation))
    write_synced(folder / WEIGHTS, save(weights_of(model), metadata={"format": "pt"}))


def save_trained(model: Qwen3ForCausalLM, base: Path, folder: Path) -> None:
    """Writes all of a policy but its manifest: the model, and the tokenizer of the policy it came from."""
    save_model(model, folder)
    for name in TOKENIZER_FILES:
        write_synced(folder / name, (base / name).read_bytes())


def weights_of(model: Qwen3ForCausalLM) -> dict[str, torch.Tensor]:
    """The parameters under their transformers names; a tied output head is stored once, as the embedding."""
    tied = model.config.tie_word_embeddings
    state = model.state_dict()
    return {k: v.detach().contiguous() for k, v in state.items() if not (tied and k == "lm_head.weight")}


def load_weights(model: Qwen3ForCausalLM, weights: dict[str, torch.Tensor]) -> None:
    """Copies stored weights into the model; the tied head follows its embedding."""
    missing, unexpected = model.load_state_dict(weights, strict=False)
    allowed = {"lm_head.weight"} if model.config.tie_word_embeddings else set()
    if unexpected or not set(missing) <= allowed:
        raise ValueError(f"weights do not fit the configuration: missing {missing}, unexpected {unexpected}")


def parameter_count(model: Qwen3ForCausalLM) -> int:
    return sum(p.numel() for p in model.parameters())
