"""Log-probabilities of a trajectory's own tokens: one by one, or summed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor

from ..data.batches import Rows

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def trajectory_logprobs(model: PreTrainedModel, rows: Rows) -> Tensor:
    """Log-probability in nats per trajectory, [B], summed over its action tokens in all of its rows."""
    logp = token_logprobs(model, acting_states(model, rows), rows)
    return torch.zeros_like(rows.counts).index_add(0, rows.owner, logp)


def acting_states(model: PreTrainedModel, rows: Rows) -> Tensor:
    """The hidden state at each position that predicts an action token, [A, D]."""
    hidden: Tensor = model.model(input_ids=rows.input_ids, use_cache=False).last_hidden_state  # [R, T, D]
    return hidden.flatten(0, 1).index_select(0, rows.action_at)


def token_logprobs(model: PreTrainedModel, states: Tensor, rows: Rows) -> Tensor:
    """Log-probability in nats of each action token, [A], from the states [A, D] that predict them.

    The output head runs over action positions only: the rest, some two thirds, never meets the vocabulary.
    """
    return -F.cross_entropy(model.lm_head(states), rows.action_ids, reduction="none")
