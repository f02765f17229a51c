"""Inference of a policy in fixed shapes, so that a row never depends on its neighbours.

Prefill runs one slot in chunks of CHUNK tokens; a decode step in float32 always runs all slots. Every matrix
product thus has one shape for the life of the server, and a request's numbers are bit-identical alone and in
company. In bfloat16, where a model is larger and a step for nobody is dear, a step runs the slots up to the
last one in use, in steps of the powers of 2: there company changes an answer within the rounding of bfloat16.

Weights and key-value cache are in the type in which the policy is stored; the residual stream, the norms, the
rotation and the logits are in float32 whichever it is.

Why not transformers' module: its cache gives all rows of a batch one position, where every slot here has
its own, and the process saves the 2.3 s and 110 MB of the import. A test holds both to each other.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from .lazy_zeros import lazy_zeros
from .model_config import Architecture, read_architecture
from .weights import PolicyWeights

# Positions per prefill pass; decode attends to a multiple of it, and masked positions add exact zeros
CHUNK = 64
CACHE_BYTES = 2 * 2**30  # of keys and values of one policy, once all its slots are full


class Layer(NamedTuple):
    """Weights of one block, fused where they multiply the same input."""

    gain: Tensor  # [D] of the norm before attention
    qkv: Tensor  # [(H + 2K) * E, D]
    qkv_bias: Tensor | None  # [(H + 2K) * E]
    turn: Tensor | None  # [H + K, E] gains of q_norm and k_norm
    output: Tensor  # [D, H * E]
    output_bias: Tensor | None  # [D]
    up_gain: Tensor  # [D] of the norm before the feed-forward part
    gate_up: Tensor  # [2F, D]
    down: Tensor  # [D, F]


class Decoder:
    """Weights, key-value cache and forward passes of one policy. Axes: S slots, N of them in a step,
    P positions, V vocabulary, D hidden, H query heads, K key-value heads, G = H / K, E head size."""

    def __init__(self, weights: PolicyWeights, *, slots: int, max_context: int) -> None:
        self._shape = shape = read_architecture(weights.model)
        self.dtype = weights.dtype
        self.context = min(max_context, shape.positions)
        """Longest prompt plus answer in tokens."""
        positions = -(-self.context // CHUNK) * CHUNK
        self.slots = min(slots, max(1, CACHE_BYTES // self._bytes_of(positions)))
        """Requests in flight: as many as asked for, or as CACHE_BYTES has room for."""
        self._embedding = weights.embedding  # [V, D]
        head = weights.find("lm_head.weight")
        self._head = self._embedding if head is None else head.float()  # [V, D]
        self._gain = weights.get("model.norm.weight").float()
        self._layers = [_layer(weights, index, shape) for index in range(shape.layers)]
        self._cos, self._sin = _rotation(positions, shape)
        cache = (shape.layers, 2, self.slots, shape.kv_heads, positions, shape.head_size)
        self.cache = lazy_zeros(*cache, dtype=self.dtype)
        """Keys (0) and values (1): [layers, 2, S, K, P, E]."""
        future = torch.full((CHUNK, CHUNK), -torch.inf).triu(1)  # what a chunk must not see of itself
        ahead = torch.cat((torch.zeros(CHUNK, positions - CHUNK), future), 1)
        self._ahead = ahead.repeat(self._group, 1).to(self.dtype)  # [G * CHUNK, P]
        self._rows = torch.arange(self.slots)
        self._columns = torch.arange(positions)

    @property
    def chunk_shape(self) -> tuple[int, ...]:
        """Of the keys and values of one chunk of one slot: [layers, 2, K, CHUNK, E]."""
        return self._shape.layers, 2, self._shape.kv_heads, CHUNK, self._shape.head_size

    @torch.inference_mode()
    def prefill(self, slot: int, start: int, ids: Tensor) -> Tensor:
        """Writes CHUNK tokens into `slot` from position `start`, a multiple of CHUNK; returns what `logits`
        takes, [CHUNK, D].

        `ids` is [CHUNK]; of a prompt's last chunk the end is padding, overwritten later.
        """
        end = start + CHUNK
        mask = self._ahead[:, -end:]  # [G * CHUNK, end]
        stacked = (1, self._shape.kv_heads, self._group * CHUNK, -1)
        x = F.embedding(ids, self._embedding)  # [CHUNK, D]
        for layer, cache in zip(self._layers, self.cache, strict=True):
            q, k, v = self._project(x, layer, self._cos[start:end], self._sin[start:end])
            keys, values = cache[0, slot : slot + 1], cache[1, slot : slot + 1]  # [1, K, P, E]
            keys[0, :, start:end] = k.transpose(0, 1)
            values[0, :, start:end] = v.transpose(0, 1)
            # The G query heads of one key head are stacked as rows, so keys are never repeated
            q = q.view(CHUNK, self._shape.kv_heads, self._group, -1).permute(1, 2, 0, 3).reshape(stacked)
            mixed = F.scaled_dot_product_attention(q, keys[:, :, :end], values[:, :, :end], mask)
            mixed = mixed.view(self._shape.kv_heads, self._group, CHUNK, -1).permute(2, 0, 1, 3)
            x = self._finish(x, mixed.reshape(CHUNK, -1), layer)
        return x

    @torch.inference_mode()
    def decode(self, ids: Tensor, positions: Tensor, longest: int, used: int) -> Tensor:
        """One token for the slots: `ids` [S] go to `positions` [S], the greatest of which is `longest`; slots
        from `used` on are idle.

        Returns logits [N, V] with used <= N <= S. Rows of idle slots (position 0) hold nothing of meaning.
        """
        count = self.slots if self.dtype == torch.float32 else min(self.slots, 1 << (used - 1).bit_length())
        ids, positions, rows = ids[:count], positions[:count], self._rows[:count]
        width = (longest // CHUNK + 1) * CHUNK
        mask = torch.zeros(count, 1, 1, width, dtype=self.dtype)
        mask.masked_fill_((self._columns[:width] > positions[:, None])[:, None, None], -torch.inf)
        mask = mask.expand(-1, -1, self._group, -1)
        cos, sin = self._cos[positions], self._sin[positions]
        x = F.embedding(ids, self._embedding)  # [N, D]
        for layer, cache in zip(self._layers, self.cache, strict=True):
            q, k, v = self._project(x, layer, cos, sin)
            cache[0][rows, :, positions] = k
            cache[1][rows, :, positions] = v
            q = q.view(count, self._shape.kv_heads, self._group, -1)
            keys, values = cache[0, :count, :, :width], cache[1, :count, :, :width]
            mixed = F.scaled_dot_product_attention(q, keys, values, mask)
            x = self._finish(x, mixed.reshape(count, -1), layer)
        return self.logits(x)

    @torch.inference_mode()
    def logits(self, x: Tensor) -> Tensor:
        """[N, V] of what the last layer gave, [N, D]."""
        return F.linear(self._norm(x, self._gain), self._head)

    @property
    def _group(self) -> int:
        return self._shape.heads // self._shape.kv_heads

    def _bytes_of(self, positions: int) -> int:
        """Of the keys and values of one slot."""
        heads = self._shape.kv_heads * self._shape.head_size
        return 2 * self._shape.layers * heads * positions * self.dtype.itemsize

    def _project(self, x: Tensor, layer: Layer, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries [N, H, E] and keys [N, K, E], normed and rotated, and values [N, K, E]."""
        heads = self._shape.heads + self._shape.kv_heads
        normed = self._norm(x, layer.gain).to(self.dtype)
        fused = F.linear(normed, layer.qkv, layer.qkv_bias).view(len(x), -1, self._shape.head_size)
        turned = fused[:, :heads].float()
        if layer.turn is not None:
            turned = self._norm(turned, layer.turn)
        half = self._shape.head_size // 2
        swapped = torch.cat((turned[..., half:], turned[..., :half]), -1)
        turned = (turned * cos).addcmul_(swapped, sin).to(self.dtype)
        return turned[:, : self._shape.heads], turned[:, self._shape.heads :], fused[:, heads:]

    def _finish(self, x: Tensor, mixed: Tensor, layer: Layer) -> Tensor:
        x = x + F.linear(mixed, layer.output, layer.output_bias)
        gate, up = F.linear(self._norm(x, layer.up_gain).to(self.dtype), layer.gate_up).chunk(2, -1)
        return x + F.linear(F.silu(gate).mul_(up), layer.down)

    def _norm(self, x: Tensor, gain: Tensor) -> Tensor:
        return (x * torch.rsqrt(x.square().mean(-1, keepdim=True).add_(self._shape.epsilon))).mul_(gain)


def _layer(weights: PolicyWeights, index: int, shape: Architecture) -> Layer:
    def find(name: str) -> Tensor | None:
        return weights.find(f"model.layers.{index}.{name}")

    def get(name: str) -> Tensor:
        return weights.get(f"model.layers.{index}.{name}.weight")

    biases = [bias for part in "qkv" if (bias := find(f"self_attn.{part}_proj.bias")) is not None]
    gains = [gain for part in "qk" if (gain := find(f"self_attn.{part}_norm.weight")) is not None]
    counts = (shape.heads, shape.kv_heads)
    turn = [gain.float().expand(count, -1) for gain, count in zip(gains, counts, strict=bool(gains))]
    return Layer(
        gain=get("input_layernorm").float(),
        qkv=torch.cat([get(f"self_attn.{part}_proj") for part in "qkv"]),
        qkv_bias=torch.cat(biases) if biases else None,
        turn=torch.cat(turn) if turn else None,
        output=get("self_attn.o_proj"),
        output_bias=find("self_attn.o_proj.bias"),
        up_gain=get("post_attention_layernorm").float(),
        gate_up=torch.cat([get("mlp.gate_proj"), get("mlp.up_proj")]),
        down=get("mlp.down_proj"),
    )


def _rotation(positions: int, shape: Architecture) -> tuple[Tensor, Tensor]:
    """Cosine and signed sine [P, 1, E] of rotary embedding in the half-split layout of transformers."""
    size = shape.head_size
    frequency = shape.theta ** -(torch.arange(0, size, 2).float() / size)
    angle = torch.outer(torch.arange(positions).float(), frequency)[:, None]
    sine = angle.sin()
    return torch.cat((angle.cos(), angle.cos()), -1), torch.cat((-sine, sine), -1)
