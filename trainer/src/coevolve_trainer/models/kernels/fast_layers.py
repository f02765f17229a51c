"""Faster layers for transformers' decoders, with equal results up to rounding.

Norms and rotations keep only the tensors that their gradients need. In the last layer, queries and
feed-forward are computed only at the positions that predict an action token: no later layer uses the others.
"""

from __future__ import annotations

from types import MethodType
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from .block_attention import AttentionPlan, block_attention
from .lora_linear import fused_linears

if TYPE_CHECKING:
    from transformers import PreTrainedModel

FAMILIES = {"llama", "qwen2", "qwen3"}
"""Model types whose layers are norm, attention with half-split rotation, norm, feed-forward."""


def use_fast_layers(model: PreTrainedModel) -> None:
    """Replaces the forward passes of norms, attention and the last layer, for the families listed above."""
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
    normed: Tensor = _RmsNorm.apply(hidden_states, self.weight, self.variance_epsilon)  # type: ignore[no-untyped-call]
    return normed


def _attention(
    self: Any,
    hidden_states: Tensor,
    position_embeddings: tuple[Tensor, Tensor],
    attention_mask: Tensor | None = None,
    attention_plan: AttentionPlan | None = None,
    query_indices: Tensor | None = None,
    **_: Any,
) -> tuple[Tensor, None]:
    """Returns [R, N, D]; with `query_indices` [Q], to which `attention_plan` then applies, [1, Q, D]."""
    cos, sin = position_embeddings
    if query_indices is None:
        query_cos, query_sin = cos, sin
        query, key, value = fused_linears([self.q_proj, self.k_proj, self.v_proj], hidden_states)
    else:
        query_cos, query_sin = cos.index_select(1, query_indices), sin.index_select(1, query_indices)
        (query,) = fused_linears([self.q_proj], hidden_states.index_select(1, query_indices))
        key, value = fused_linears([self.k_proj, self.v_proj], hidden_states)
    query = _rotated_heads(self, query, "q_norm", query_cos, query_sin)
    key = _rotated_heads(self, key, "k_norm", cos, sin)
    value = _split_heads(self, value).transpose(1, 2)
    output, _weights = block_attention(
        self,
        query,
        key,
        value,
        attention_mask,
        scaling=self.scaling,
        dropout=self.attention_dropout if self.training else 0.0,
        attention_plan=attention_plan,
    )
    return fused_linears([self.o_proj], output.flatten(2))[0], None


def _feed_forward(self: Any, hidden_states: Tensor) -> Tensor:
    gate, up = fused_linears([self.gate_proj, self.up_proj], hidden_states)
    return fused_linears([self.down_proj], self.act_fn(gate) * up)[0]


def _last_layer(
    self: Any,
    hidden_states: Tensor,
    *args: Any,
    kept: Tensor | None = None,
    kept_plan: AttentionPlan | None = None,
    **kwargs: Any,
) -> Tensor:
    """Returns the states at `kept`, [1, K, D], or all; without `kept_plan` all positions are queries."""
    normed = self.input_layernorm(hidden_states)
    if kept is not None and kept_plan is not None:
        attended = self.self_attn(normed, **{**kwargs, "attention_plan": kept_plan, "query_indices": kept})[0]
    else:
        attended = self.self_attn(normed, **kwargs)[0]
        attended = attended if kept is None else attended.index_select(1, kept)
    hidden = attended + (hidden_states if kept is None else hidden_states.index_select(1, kept))
    output: Tensor = hidden + self.mlp(self.post_attention_layernorm(hidden))
    return output


def _split_heads(self: Any, flat: Tensor) -> Tensor:
    return flat.view(*flat.shape[:-1], -1, self.head_dim)


def _rotated_heads(self: Any, flat: Tensor, norm: str, cos: Tensor, sin: Tensor) -> Tensor:
    """Returns [R, H, N, E] of projected [R, N, H * E]: normed if the model has such a norm, then rotated."""
    heads = _split_heads(self, flat)
    if hasattr(self, norm):
        heads = getattr(self, norm)(heads)
    rotated: Tensor = _Rotation.apply(heads, cos, sin)  # type: ignore[no-untyped-call]
    return rotated.transpose(1, 2)


class _RmsNorm(torch.autograd.Function):
    """weight * x / sqrt(mean(x^2) + eps), computed in float32."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, eps: float) -> Tensor:
        x_float32 = x.float()
        length = torch.linalg.vector_norm(x_float32, dim=-1, keepdim=True)
        scale = length.square_().div_(x.shape[-1]).add_(eps).rsqrt_()
        normed: Tensor = x_float32 * scale
        ctx.save_for_backward(normed, scale, weight)
        ctx.dtype = x.dtype
        return normed.to(x.dtype) * weight

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        normed, scale, weight = ctx.saved_tensors
        grad_weight = None
        if ctx.needs_input_grad[1]:
            grad_weight = (grad * normed).flatten(0, -2).sum(0).to(weight.dtype)
        grad_normed = (grad * weight).float()
        radial = (grad_normed * normed).mean(-1, keepdim=True)
        grad_x = torch.addcmul(grad_normed, normed, radial, value=-1).mul_(scale)
        return grad_x.to(ctx.dtype), grad_weight, None


class _Rotation(torch.autograd.Function):
    """Rotary position embedding of [R, N, H, E] by the angles of [R, N, E]."""

    @staticmethod
    def forward(ctx: Any, heads: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        ctx.save_for_backward(cos, sin)
        return _rotate(heads, cos, sin, 1)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        cos, sin = ctx.saved_tensors
        return _rotate(grad, cos, sin, -1), None, None


def _rotate(heads: Tensor, cos: Tensor, sin: Tensor, direction: int) -> Tensor:
    """Rotates in float32 and rounds once."""
    half = heads.shape[-1] // 2
    wide, cos, sin = (x.float() for x in (heads, cos.unsqueeze(2), sin.unsqueeze(2)))
    rotated = wide * cos
    rotated[..., :half].addcmul_(wide[..., half:], sin[..., :half], value=-direction)
    rotated[..., half:].addcmul_(wide[..., :half], sin[..., half:], value=direction)
    return rotated.to(heads.dtype)
