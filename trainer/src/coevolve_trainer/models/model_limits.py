"""The limits of an imported model here: its positions, and the servers that can compute it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..failures import JobFailure, bad_input
from .decoder_config import read_decoder_config

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedModel


def positions_of(model: PreTrainedModel) -> int:
    """Returns the max tokens of prompt plus completion; raises `bad-input` if the configuration has none."""
    positions = getattr(model.config, "max_position_embeddings", None)
    if not isinstance(positions, int):
        raise bad_input("max_position_embeddings", positions, "the number of positions, in config.json")
    return positions


def require_ids(model: PreTrainedModel, tokenizer: Tokenizer) -> None:
    """Raises `bad-input` when the tokenizer has ids for which the model has no embedding."""
    rows = model.get_input_embeddings().weight.shape[0]
    token, id = max(tokenizer.get_vocab().items(), key=lambda entry: entry[1])
    if id >= rows:
        remedy = f"resize_token_embeddings({id + 1}) adds rows"
        expected = f"ids below {rows}, the rows of the model's embedding; {remedy}"
        raise bad_input("tokenizer", f"id {id} ({token})", expected)


def limit_to_window(model: PreTrainedModel) -> list[str]:
    """Limits the positions of a model whose layers all have one sliding window to it; returns a note.

    Within it, sliding attention is full attention (Mistral 7B v0.1: 4096 tokens), which everything computes.
    """
    config = model.config
    window = getattr(config, "sliding_window", None)
    if not isinstance(window, int) or getattr(config, "layer_types", None):
        return []
    config.sliding_window = None
    config.max_position_embeddings = min(positions_of(model), window)
    return [f"limited to {config.max_position_embeddings} tokens, its sliding window"]


def server_notes(policy: Path) -> list[str]:
    """Returns a note if the small policy server cannot compute the model."""
    try:
        read_decoder_config(policy)
    except JobFailure as failure:
        remedy = "start the stack with COEVOLVE_POLICY_SERVER=vllm"
        return [f"the small policy server cannot serve it ({failure.message}); {remedy}"]
    return []
