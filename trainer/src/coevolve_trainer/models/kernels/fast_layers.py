"""Layers of transformers' decoders computed with less work, and the same results to rounding.

Norms and rotations keep what their gradients need and no more. Of the last layer, only the positions that
predict something ask, and only they go through its feed-forward part: nothing looks at the others any more.
"""

from __future__ import annotations

from types import MethodType
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from .block_attention import Looks, attention
from .lora_linear import linear_together

if TYPE_CHECKING:
    from transformers import PreTrainedModel

FAMILIES = {"llama", "qwen2", "qwen3"}
"""Whose layers are known to be norm, attention with rotated halves, norm and feed-forward; others stay."""


def quicken(model: PreTrainedModel) -> None:
    """Exchanges the forward passes of norms, attention and the last layer; weights and names stay."""
    if model.config.model_type not in FAMILIES:
        return
    body: Any = model.base_model
    for module in body.modules():
        if type(module).__name__.endswith("RMSNorm"):
            module.forward = MethodType(_norm, module)
    for layer in body.layers:
        layer.self_attn.forward = MethodType(_attention, layer.self_attn)
        layer.mlp.forward = MethodType(_feed_forward, layer.mlp)
    body.layers[-1].forward = MethodType(_last_layer, body.layers[-1])


def _norm(self: Any, hidden_states: Tensor) -> Tensor:
    found: Tensor = _RmsNorm.apply(hidden_states, self.weight, self.variance_epsilon)  # type: ignore[no-untyped-call]
    return found


def _attention(
    self: Any,
    hidden_states: Tensor,
    position_embeddings: tuple[Tensor, Tensor],
    attention_mask: Tensor | None = None,
    looks: Looks | None = None,
    asking: Tensor | None = None,
    **_: Any,
) -> tuple[Tensor, None]:
    """[R, N, D], or [1, Q, D] where only the Q positions `asking` ask; `looks` are theirs then."""
    cos, sin = position_embeddings
    turns = (cos, sin) if asking is None else (cos.index_select(1, asking), sin.index_select(1, asking))
    looking = [self.q_proj, self.k_proj, self.v_proj]
    if asking is None:
        asked, key, value = linear_together(looking, hidden_states)
    else:
        (asked,) = linear_together(looking[:1], hidden_states.index_select(1, asking))
        key, value = linear_together(looking[1:], hidden_states)
    query = _rotated(self, asked, "q_norm", *turns)
    key = _rotated(self, key, "k_norm", cos, sin)
    value = _heads(self, value).transpose(1, 2)
    dropout = self.attention_dropout if self.training else 0.0
    alike: dict[str, Any] = {"scaling": self.scaling, "dropout": dropout, "looks": looks}
    found = attention(self, query, key, value, attention_mask, **alike)[0]
    return linear_together([self.o_proj], found.flatten(2))[0], None


def _feed_forward(self: Any, hidden_states: Tensor) -> Tensor:
    gate, up = linear_together([self.gate_proj, self.up_proj], hidden_states)
    return linear_together([self.down_proj], self.act_fn(gate) * up)[0]


def _last_layer(
    self: Any,
    hidden_states: Tensor,
    *args: Any,
    keep: Tensor | None = None,
    kept_looks: Looks | None = None,
    **kwargs: Any,
) -> Tensor:
    """[1, K, D], the states at `keep`; all of them when there is none. Without `kept_looks` all ask."""
    normed = self.input_layernorm(hidden_states)
    if keep is not None and kept_looks is not None:
        attended = self.self_attn(normed, **{**kwargs, "looks": kept_looks, "asking": keep})[0]
    else:
        attended = self.self_attn(normed, **kwargs)[0]
        attended = attended if keep is None else attended.index_select(1, keep)
    hidden = attended + (hidden_states if keep is None else hidden_states.index_select(1, keep))
    found: Tensor = hidden + self.mlp(self.post_attention_layernorm(hidden))
    return found


def _heads(self: Any, flat: Tensor) -> Tensor:
    return flat.view(*flat.shape[:-1], -1, self.head_dim)


def _rotated(self: Any, flat: Tensor, norm: str, cos: Tensor, sin: Tensor) -> Tensor:
    """[R, H, N, E] of projected [R, N, H * E]: normed where the family does so, then rotated."""
    heads = _heads(self, flat)
    if hasattr(self, norm):
        heads = getattr(self, norm)(heads)
    turned: Tensor = _Rotation.apply(heads, cos, sin)  # type: ignore[no-untyped-call]
    return turned.transpose(1, 2)


class _RmsNorm(torch.autograd.Function):
    """weight * x / sqrt(mean(x^2) + eps), computed in float32."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, eps: float) -> Tensor:
        wide = x.float()
        length = torch.linalg.vector_norm(wide, dim=-1, keepdim=True)
        scale = length.square_().div_(x.shape[-1]).add_(eps).rsqrt_()
        normed: Tensor = wide * scale
        ctx.save_for_backward(normed, scale, weight)
        ctx.dtype = x.dtype
        return normed.to(x.dtype) * weight

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        normed, scale, weight = ctx.saved_tensors
        to_weight = None
        if ctx.needs_input_grad[1]:
            to_weight = (grad * normed).flatten(0, -2).sum(0).to(weight.dtype)
        slope = (grad * weight).float()
        along = (slope * normed).mean(-1, keepdim=True)
        to_x = torch.addcmul(slope, normed, along, value=-1).mul_(scale)
        return to_x.to(ctx.dtype), to_weight, None


class _Rotation(torch.autograd.Function):
    """Rotary position embedding of [R, N, H, E] by the angles of [R, N, E]; backward turns the other way."""

    @staticmethod
    def forward(ctx: Any, heads: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        ctx.save_for_backward(cos, sin)
        return _turned(heads, cos, sin, 1)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        cos, sin = ctx.saved_tensors
        return _turned(grad, cos, sin, -1), None, None


def _turned(heads: Tensor, cos: Tensor, sin: Tensor, sense: int) -> Tensor:
    """Computed in float32, and rounded once."""
    half = heads.shape[-1] // 2
    wide, cos, sin = (x.float() for x in (heads, cos.unsqueeze(2), sin.unsqueeze(2)))
    found = wide * cos
    found[..., :half].addcmul_(wide[..., half:], sin[..., :half], value=-sense)
    found[..., half:].addcmul_(wide[..., :half], sin[..., half:], value=sense)
    return found.to(heads.dtype)
