"""Layers of transformers' decoders computed with less work, and the same results to rounding."""

from __future__ import annotations

from types import MethodType
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_PARTS = {"input_layernorm", "self_attn", "post_attention_layernorm", "mlp"}
"""What a layer of Llama, Qwen2, Qwen3 and their like consists of; any other keeps its own forward."""


def quicken(model: PreTrainedModel) -> None:
    """Lets the last layer's feed-forward part, and the norm after it, run over kept positions alone."""
    body: Any = model.base_model
    last: nn.Module = body.layers[-1]
    if {name for name, _ in last.named_children()} == _PARTS:
        last.forward = MethodType(_last_layer, last)


def _last_layer(
    self: Any, hidden_states: Tensor, *args: Any, keep: Tensor | None = None, **kwargs: Any
) -> Tensor:
    """[1, K, D]: what follows attention looks at no other position, so only those in `keep` go on."""
    attended = self.self_attn(hidden_states=self.input_layernorm(hidden_states), **kwargs)[0]
    hidden = hidden_states + attended
    if keep is not None:
        hidden = hidden.index_select(1, keep)
    found: Tensor = hidden + self.mlp(self.post_attention_layernorm(hidden))
    return found
