"""Small random policies of every architecture that the policy server supports, whole and as adapters."""

import json
import shutil
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel

from coevolve_trainer.files.policy_files import write_manifest
from coevolve_trainer.models.weight_files import write_weights

SIZES = {
    "vocab_size": 400,
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 96,
    "max_position_embeddings": 512,
    "initializer_range": 0.2,
}
ARCHITECTURES: dict[str, dict[str, Any]] = {
    "qwen3": {**SIZES, "model_type": "qwen3", "head_dim": 32, "tie_word_embeddings": True},
    "qwen2": {**SIZES, "model_type": "qwen2", "tie_word_embeddings": False},
    "llama": {**SIZES, "model_type": "llama", "tie_word_embeddings": True, "rope_theta": 100_000.0},
    "mistral": {
        **SIZES,
        "model_type": "mistral",
        "head_dim": 32,
        "tie_word_embeddings": False,
        "sliding_window": None,
    },
}


def random_policy(
    store: Path, family: str, dtype: torch.dtype = torch.float32, tokenizer_of: Path | None = None
) -> tuple[Path, str]:
    """Creates a whole policy in `store` under its hash, with the tokenizer of another policy if given."""
    config = AutoConfig.for_model(**ARCHITECTURES[family])
    torch.manual_seed(3)
    model = AutoModelForCausalLM.from_config(config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            # Norms are initially 1 and biases 0: a bug in them would have no effect
            if parameter.ndim == 1:
                parameter.add_(torch.randn_like(parameter) * 0.3)
            assert "bias" not in name or family in ("qwen2", "gpt_neox")
    folder = store / "new"
    folder.mkdir(parents=True)
    weights = {name: weight.detach().to(dtype).contiguous() for name, weight in model.named_parameters()}
    write_weights(folder, weights, shard_bytes=100_000)
    (folder / "config.json").write_text(model.config.to_json_string())
    if tokenizer_of is not None:
        shutil.copy(tokenizer_of / "tokenizer.json", folder)
    return publish(folder, {"method": "import"})


def random_adapter(model: Path) -> tuple[Path, str]:
    """Creates an adapter of the whole policy in `model`, beside it; its second factor is not 0."""
    torch.manual_seed(4)
    config = LoraConfig(r=4, lora_alpha=8, target_modules="all-linear", init_lora_weights=False)
    folder = model.parent / "new"
    get_peft_model(_load(model), config).save_pretrained(str(folder))
    (folder / "README.md").unlink()
    if (model / "tokenizer.json").exists():
        shutil.copy(model / "tokenizer.json", folder)
    return publish(folder, {"method": "sft", "model_hash": model.name})


def publish(folder: Path, fields: dict[str, Any]) -> tuple[Path, str]:
    policy_hash = write_manifest(folder, fields)
    return folder.rename(folder.parent / policy_hash), policy_hash


def transformers_logits(policy: Path, tokens: torch.Tensor) -> torch.Tensor:
    """Returns logits [T, V] of tokens [T] in float32, from transformers and, for an adapter, peft."""
    model_hash = json.loads((policy / "manifest.json").read_bytes()).get("model_hash")
    model: Any = _load(policy.parent / model_hash if model_hash else policy)
    if model_hash:
        model = PeftModel.from_pretrained(model, policy)
    with torch.no_grad():
        logits: torch.Tensor = model(input_ids=tokens[None]).logits[0]
    return logits


def _load(model: Path) -> PreTrainedModel:
    loaded: PreTrainedModel = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32)
    return loaded
