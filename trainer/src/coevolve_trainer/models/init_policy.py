"""Makes a decoder of random weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..settings import InitSettings

if TYPE_CHECKING:
    from transformers.models.qwen3.modeling_qwen3 import Qwen3ForCausalLM


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
