"""Reads from config.json the sizes of a model that the small policy server computes.

The families are Qwen3, Qwen2, Mistral and Llama (SmolLM2 is a Llama).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..failures import bad_input


@dataclass(frozen=True)
class DecoderConfig:
    """Sizes of a decoder. The families differ only in biases and in the norm of queries and keys."""

    layers: int
    heads: int
    kv_heads: int
    head_size: int
    epsilon: float
    """Epsilon of every RMS norm."""
    theta: float
    """Base of the rotary frequencies."""
    positions: int
    """Max tokens of prompt plus completion that the model supports."""


def read_decoder_config(model: Path) -> DecoderConfig:
    """Reads config.json in the format of transformers 5 or 4.

    Raises:
        JobFailure: `bad-input` for a model that this decoder would compute wrongly; vLLM serves those.
    """
    config: dict[str, Any] = json.loads((model / "config.json").read_bytes())
    family = config.get("model_type")
    if family not in ("qwen3", "qwen2", "llama", "mistral"):
        raise bad_input("model_type", family, "qwen3, qwen2, llama or mistral; vLLM serves others")
    rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
    for name, found, expected in (
        ("hidden_act", config.get("hidden_act", "silu"), "silu"),
        ("mlp_bias", config.get("mlp_bias", False), False),
        ("use_sliding_window", config.get("use_sliding_window", False), False),
        # Transformers' default for Mistral is a window of 4096; the import removes it
        ("sliding_window", config.get("sliding_window", 4096) if family == "mistral" else None, None),
        ("rope_type", rope.get("rope_type", rope.get("type", "default")), "default"),
    ):
        if found != expected:
            raise bad_input(name, found, f"{expected}; vLLM serves others")
    heads = config["num_attention_heads"]
    return DecoderConfig(
        layers=config["num_hidden_layers"],
        heads=heads,
        kv_heads=config.get("num_key_value_heads") or heads,
        head_size=config.get("head_dim") or config["hidden_size"] // heads,
        epsilon=config["rms_norm_eps"],
        theta=float(rope.get("rope_theta") or config.get("rope_theta") or 10_000.0),
        positions=config["max_position_embeddings"],
    )
