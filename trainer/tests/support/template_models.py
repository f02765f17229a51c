"""Small random models in the format of transformers, with the tokenizer and the template of a family."""

from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM

from template_families import Family

SIZES = {
    "hidden_size": 8,
    "intermediate_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 16,
    "max_position_embeddings": 128,
}


def write_model(folder: Path, family: Family, model_type: str, **settings: Any) -> Path:
    vocabulary = family.tokenizer().get_vocab_size()
    config = AutoConfig.for_model(model_type, **{**SIZES, **settings}, vocab_size=vocabulary)
    torch.manual_seed(0)
    model: Any = AutoModelForCausalLM.from_config(config)
    family.write(folder)
    model.save_pretrained(folder)
    return folder
