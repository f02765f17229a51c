"""Inference of a policy in fixed shapes, so that a request never depends on concurrent requests.

Prefill computes one slot in chunks of CHUNK tokens. Decoding computes the slots up to the last one in use,
rounded up to a size that was measured to give each row the bits of a pass over all slots; where no size does,
it computes each slot alone. It attends to as many positions as the longest request has, rounded up to a
multiple that was measured to leave shorter requests their bits. Therefore a request's numbers are
bit-identical with and without concurrent requests, in float32 and in bfloat16.

Weights and key-value cache have the stored type of the policy; residual stream, norms, rotation and logits
are always float32.

Reason for not using transformers' module: in its cache all rows of a batch have the same position, and its
import takes 2.3 s and 110 MB. A test compares both.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from coevolve_trainer.models.decoder_config import DecoderConfig, read_decoder_config

from .attention_widths import attention_mask, find_width_step
from .batch_sizes import find_batch_sizes
from .lazy_zeros import lazy_zeros
from .weights import PolicyWeights

CHUNK = 64  # positions per prefill pass
USUAL_CONTEXT = 4096
CACHE_BYTES = 2 * 2**30  # max bytes of keys and values of one policy, when all its slots are full


class Layer(NamedTuple):
    """Weights of one layer, concatenated where they multiply the same input."""

    attention_norm: Tensor  # [D]
    qkv: Tensor  # [(H + 2K) * E, D]
    qkv_bias: Tensor | None  # [(H + 2K) * E]
    qk_norm: Tensor | None  # [H + K, E] weights of q_norm and k_norm
    output: Tensor  # [D, H * E]
    output_bias: Tensor | None  # [D]
    feed_forward_norm: Tensor  # [D]
    gate_up: Tensor  # [2F, D]
    down: Tensor  # [D, F]


class Decoder:
    """Weights, key-value cache and forward passes of one policy. Axes: S slots, N of them in one computation,
    P positions, V vocabulary, D hidden, H query heads, K key-value heads, G = H / K, E head size."""

    def __init__(self, weights: PolicyWeights, *, slots: int, max_context: int | None) -> None:
        self._shape = shape = read_decoder_config(weights.model)
        self.dtype = weights.dtype
        self.context = min(max_context or self._usual_context(slots), shape.positions)
        """Max tokens of prompt plus completion."""
        self.positions = positions = -(-self.context // CHUNK) * CHUNK
        """Positions of a slot, a multiple of CHUNK."""
        self.slots = min(slots, max(1, CACHE_BYTES // self._slot_bytes(positions)))
        """Max concurrent requests: `slots`, or as many as fit into CACHE_BYTES."""
        self._embedding = weights.embedding  # [V, D]
        head = weights.find("lm_head.weight")
        self._head = self._embedding if head is None else head.float()  # [V, D]
        self._final_norm = weights.get("model.norm.weight").float()
        self._layers = [_layer(weights, index, shape) for index in range(shape.layers)]
        self._cos, self._sin = _rotation(positions, shape)
        cache = (shape.layers, 2, self.slots, shape.kv_heads, positions, shape.head_size)
        self.cache = lazy_zeros(*cache, dtype=self.dtype)
        """Keys (0) and values (1): [layers, 2, S, K, P, E]."""
        future = torch.full((CHUNK, CHUNK), -torch.inf).triu(1)  # causal mask within a chunk
        mask = torch.cat((torch.zeros(CHUNK, positions - CHUNK), future), 1)
        self._prefill_mask = mask.repeat(self._group, 1).to(self.dtype)  # [G * CHUNK, P]
        self._rows = torch.arange(self.slots)
        self.width_step = find_width_step(self.query_shape, positions, self.dtype)
        """Decoding attends to a multiple of this number of positions, or to all."""
        self.batch_sizes = find_batch_sizes(self)
        """Numbers of slots that decoding may compute together, ascending; empty: each slot alone."""

    def _usual_context(self, slots: int) -> int:
        """Returns all positions of a small policy, and at most USUAL_CONTEXT where they would cost slots."""
        positions = self._shape.positions
        return positions if slots * self._slot_bytes(positions) <= CACHE_BYTES else USUAL_CONTEXT

    @property
    def chunk_shape(self) -> tuple[int, ...]:
        """Shape of the keys and values of one chunk of one slot: [layers, 2, K, CHUNK, E]."""
        return self._shape.layers, 2, self._shape.kv_heads, CHUNK, self._shape.head_size

    @property
    def query_shape(self) -> tuple[int, int, int]:
        """Shape of the queries of one token: [K, G, E]."""
        return self._shape.kv_heads, self._group, self._shape.head_size

    @property
    def vocabulary(self) -> int:
        return len(self._embedding)

    @property
    def kernel_shapes(self) -> tuple[object, ...]:
        """All sizes and types that decide about the kernels of a decoding pass."""
        shapes = tuple(None if weight is None else weight.shape for weight in self._layers[0])
        return self._shape, shapes, self._head.shape, self.cache.shape, self.dtype

    @property
    def sums_per_token(self) -> int:
        """Elements of the matrix products of all layers for one token."""
        layer = self._layers[0]
        products = (layer.qkv, layer.output, layer.gate_up, layer.down)
        return len(self._layers) * sum(len(weight) for weight in products)

    @torch.inference_mode()
    def prefill(self, slot: int, start: int, ids: Tensor) -> Tensor:
        """Writes CHUNK tokens into `slot` from position `start`, a multiple of CHUNK; returns the last
        layer's states [CHUNK, D], the argument of `logits`.

        `ids` is [CHUNK]; the end of a prompt's last chunk is padding, which is overwritten later.
        """
        end = start + CHUNK
        mask = self._prefill_mask[:, -end:]  # [G * CHUNK, end]
        stacked = (1, self._shape.kv_heads, self._group * CHUNK, -1)
        x = F.embedding(ids, self._embedding)  # [CHUNK, D]
        for layer, cache in zip(self._layers, self.cache, strict=True):
            q, k, v = self._project(x, layer, self._cos[start:end], self._sin[start:end])
            keys, values = cache[0, slot : slot + 1], cache[1, slot : slot + 1]  # [1, K, P, E]
            keys[0, :, start:end] = k.transpose(0, 1)
            values[0, :, start:end] = v.transpose(0, 1)
            # The G query heads of one key head are stacked as rows, so that keys need not be repeated
            q = q.view(CHUNK, self._shape.kv_heads, self._group, -1).permute(1, 2, 0, 3).reshape(stacked)
            mixed = F.scaled_dot_product_attention(q, keys[:, :, :end], values[:, :, :end], mask)
            mixed = mixed.view(self._shape.kv_heads, self._group, CHUNK, -1).permute(2, 0, 1, 3)
            x = self._finish_layer(x, mixed.reshape(CHUNK, -1), layer)
        return x

    def decode(self, ids: Tensor, positions: Tensor, longest: int, used: int) -> Tensor:
        """Adds one token to each slot: `ids` [S] at `positions` [S], the largest of which is `longest`; slots
        from index `used` on are idle.

        Returns logits [N, V] with used <= N <= S. Rows of idle slots (position 0) are undefined.
        """
        for size in self.batch_sizes:
            if size >= used:
                return self.decode_range(0, ids[:size], positions[:size], longest)
        alone = [
            self.decode_range(slot, ids[slot : slot + 1], positions[slot : slot + 1], int(positions[slot]))
            for slot in range(used)
        ]
        return torch.cat(alone)

    @torch.inference_mode()
    def decode_range(self, first: int, ids: Tensor, positions: Tensor, longest: int) -> Tensor:
        """Adds one token to each slot from index `first` on: `ids` [N] at `positions` [N]; returns [N, V]."""
        end = first + len(ids)
        rows = self._rows[first:end]
        width = min((longest // self.width_step + 1) * self.width_step, self.positions)
        mask = attention_mask(positions, width, self._group, self.dtype)
        cos, sin = self._cos[positions], self._sin[positions]
        x = F.embedding(ids, self._embedding)  # [N, D]
        for layer, cache in zip(self._layers, self.cache, strict=True):
            q, k, v = self._project(x, layer, cos, sin)
            cache[0][rows, :, positions] = k
            cache[1][rows, :, positions] = v
            q = q.view(len(ids), self._shape.kv_heads, self._group, -1)
            keys, values = cache[0, first:end, :, :width], cache[1, first:end, :, :width]
            mixed = F.scaled_dot_product_attention(q, keys, values, mask)
            x = self._finish_layer(x, mixed.reshape(len(ids), -1), layer)
        return self.logits(x)

    @torch.inference_mode()
    def logits(self, x: Tensor) -> Tensor:
        """Returns logits [N, V] of the last layer's states [N, D]."""
        return F.linear(self._norm(x, self._final_norm), self._head)

    @property
    def _group(self) -> int:
        return self._shape.heads // self._shape.kv_heads

    def _slot_bytes(self, positions: int) -> int:
        """Returns the bytes of the keys and values of one slot."""
        heads = self._shape.kv_heads * self._shape.head_size
        return 2 * self._shape.layers * heads * positions * self.dtype.itemsize

    def _project(self, x: Tensor, layer: Layer, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Returns queries [N, H, E] and keys [N, K, E], normed and rotated, and values [N, K, E]."""
        heads = self._shape.heads + self._shape.kv_heads
        normed = self._norm(x, layer.attention_norm).to(self.dtype)
        qkv = F.linear(normed, layer.qkv, layer.qkv_bias).view(len(x), -1, self._shape.head_size)
        qk = qkv[:, :heads].float()
        if layer.qk_norm is not None:
            qk = self._norm(qk, layer.qk_norm)
        half = self._shape.head_size // 2
        swapped = torch.cat((qk[..., half:], qk[..., :half]), -1)
        qk = (qk * cos).addcmul_(swapped, sin).to(self.dtype)
        return qk[:, : self._shape.heads], qk[:, self._shape.heads :], qkv[:, heads:]

    def _finish_layer(self, x: Tensor, mixed: Tensor, layer: Layer) -> Tensor:
        """Applies the output projection and the feed-forward part after attention."""
        x = x + F.linear(mixed, layer.output, layer.output_bias)
        normed = self._norm(x, layer.feed_forward_norm).to(self.dtype)
        gate, up = F.linear(normed, layer.gate_up).chunk(2, -1)
        return x + F.linear(F.silu(gate).mul_(up), layer.down)

    def _norm(self, x: Tensor, weight: Tensor) -> Tensor:
        return (x * torch.rsqrt(x.square().mean(-1, keepdim=True).add_(self._shape.epsilon))).mul_(weight)


def _layer(weights: PolicyWeights, index: int, shape: DecoderConfig) -> Layer:
    def find(name: str) -> Tensor | None:
        return weights.find(f"model.layers.{index}.{name}")

    def get(name: str) -> Tensor:
        return weights.get(f"model.layers.{index}.{name}.weight")

    biases = [bias for part in "qkv" if (bias := find(f"self_attn.{part}_proj.bias")) is not None]
    norms = [norm for part in "qk" if (norm := find(f"self_attn.{part}_norm.weight")) is not None]
    counts = (shape.heads, shape.kv_heads)
    qk_norm = [norm.float().expand(count, -1) for norm, count in zip(norms, counts, strict=bool(norms))]
    return Layer(
        attention_norm=get("input_layernorm").float(),
        qkv=torch.cat([get(f"self_attn.{part}_proj") for part in "qkv"]),
        qkv_bias=torch.cat(biases) if biases else None,
        qk_norm=torch.cat(qk_norm) if qk_norm else None,
        output=get("self_attn.o_proj"),
        output_bias=find("self_attn.o_proj.bias"),
        feed_forward_norm=get("post_attention_layernorm").float(),
        gate_up=torch.cat([get("mlp.gate_proj"), get("mlp.up_proj")]),
        down=get("mlp.down_proj"),
    )


def _rotation(positions: int, shape: DecoderConfig) -> tuple[Tensor, Tensor]:
    """Returns cosine and signed sine [P, 1, E] of the rotary embedding in transformers' half-split layout."""
    size = shape.head_size
    frequency = shape.theta ** -(torch.arange(0, size, 2).float() / size)
    angle = torch.outer(torch.arange(positions).float(), frequency)[:, None]
    sine = angle.sin()
    return torch.cat((angle.cos(), angle.cos()), -1), torch.cat((-sine, sine), -1)
