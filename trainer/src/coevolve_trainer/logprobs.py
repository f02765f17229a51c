"""Summed log-probability of a trajectory's own tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor

from .batches import Rows

if TYPE_CHECKING:
    from transformers.models.qwen3.modeling_qwen3 import Qwen3ForCausalLM


def trajectory_logprobs(model: Qwen3ForCausalLM, rows: Rows) -> Tensor:
    """Log-probability in nats per trajectory, [B], summed over its action tokens in all of its rows.

    The output head runs over action positions only: the rest, some two thirds, never meets the vocabulary.
    """
    hidden = model.model(input_ids=rows.input_ids, use_cache=False).last_hidden_state  # [R, T, D]
    acting = hidden.flatten(0, 1).index_select(0, rows.action_at)  # [A, D]
    logp = -F.cross_entropy(model.lm_head(acting), rows.action_ids, reduction="none")  # [A]
    return torch.zeros_like(rows.counts).index_add(0, rows.owner, logp)
