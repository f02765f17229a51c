"""Inference of a Qwen3-configuration policy in fixed shapes, so that a row never depends on its neighbours.

Prefill runs one slot in chunks of CHUNK tokens; a decode step always runs all slots. Every matrix product
thus has one shape for the life of the server, and a request's numbers are bit-identical alone and in
company.

Why not transformers' module: its cache gives all rows of a batch one position, where every slot here has
its own, and the process saves the 2.3 s and 110 MB of the import. A test holds both to each other.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import Tensor

from coevolve_trainer.failures import bad_input

from .lazy_zeros import lazy_zeros

CHUNK = (
    64  # positions per prefill pass; decode attends to a multiple of it, and masked positions add exact zeros
)


class Layer(NamedTuple):
    """Weights of one block, fused where they multiply the same input; the norm's gain is folded into them."""

    qkv: Tensor  # [(H + 2K) * E, D]
    output: Tensor  # [D, H * E]
    gate_up: Tensor  # [2F, D]
    down: Tensor  # [D, F]
    cos: Tensor  # [P, H + K, E] rotation times the gains of q_norm and k_norm, and the softmax scale for q
    sin: Tensor  # [P, H + K, E] the same for the half-swapped input, sign included


class Decoder:
    """Weights, key-value cache and forward passes of one policy. Axes: S slots, P positions, V vocabulary,
    D hidden, H query heads, K key-value heads, G = H / K, E head size."""

    def __init__(self, policy: Path, *, slots: int, max_context: int) -> None:
        config: dict[str, Any] = json.loads((policy / "config.json").read_bytes())
        if config["model_type"] != "qwen3" or config.get("attention_bias"):
            raise bad_input("model_type", config["model_type"], "qwen3 without attention bias")
        self.slots = slots
        self.context = min(max_context, config["max_position_embeddings"])
        """Longest prompt plus answer in tokens."""
        self._heads, self._kv = config["num_attention_heads"], config["num_key_value_heads"]
        self._head_size, self._epsilon = config["head_dim"], config["rms_norm_eps"]
        positions = -(-self.context // CHUNK) * CHUNK
        weights = {name: tensor.float() for name, tensor in load_file(policy / "model.safetensors").items()}
        embedding = weights["model.embed_tokens.weight"]
        self._embedding = embedding  # [V, D]
        # [V, D], the final norm's gain folded in
        self._head = weights.get("lm_head.weight", embedding) * weights["model.norm.weight"]
        theta = float(config["rope_parameters"]["rope_theta"])
        rotation = _rotation(positions, self._head_size, theta)
        self._layers = [self._layer(weights, i, rotation) for i in range(config["num_hidden_layers"])]
        self.cache = lazy_zeros(len(self._layers), 2, slots, self._kv, positions, self._head_size)
        """Keys (0) and values (1): [layers, 2, S, K, P, E]."""
        future = torch.full((CHUNK, CHUNK), -torch.inf).triu(1)  # what a chunk must not see of itself
        ahead = torch.cat((torch.zeros(CHUNK, positions - CHUNK), future), 1)
        self._ahead = ahead.repeat(self._heads // self._kv, 1)  # [G * CHUNK, P]
        self._rows = torch.arange(slots)
        self._columns = torch.arange(positions)

    @property
    def chunk_shape(self) -> tuple[int, ...]:
        """Of the keys and values of one chunk of one slot: [layers, 2, K, CHUNK, E]."""
        return len(self._layers), 2, self._kv, CHUNK, self._head_size

    @torch.inference_mode()
    def prefill(self, slot: int, start: int, ids: Tensor, last: int) -> Tensor:
        """Writes CHUNK tokens into `slot` from position `start`, a multiple of CHUNK.

        `ids` is [CHUNK]; what follows index `last` is padding, overwritten later. Returns the logits [1, V]
        that follow `last`.
        """
        end = start + CHUNK
        group = self._heads // self._kv
        mask = self._ahead[:, -end:]  # [G * CHUNK, end]
        x = F.embedding(ids, self._embedding)  # [CHUNK, D]
        for layer, cache in zip(self._layers, self.cache, strict=True):
            q, k, v = self._project(x, layer, layer.cos[start:end], layer.sin[start:end])
            keys, values = cache[0, slot : slot + 1], cache[1, slot : slot + 1]  # [1, K, P, E]
            keys[0, :, start:end] = k.transpose(0, 1)
            values[0, :, start:end] = v.transpose(0, 1)
            # The G query heads of one key head are stacked as rows, so keys are never repeated
            q = q.view(CHUNK, self._kv, group, -1).permute(1, 2, 0, 3).reshape(1, self._kv, group * CHUNK, -1)
            mixed = F.scaled_dot_product_attention(q, keys[:, :, :end], values[:, :, :end], mask, scale=1.0)
            mixed = mixed.view(self._kv, group, CHUNK, -1).permute(2, 0, 1, 3).reshape(CHUNK, -1)
            x = self._finish(x, mixed, layer)
        return self._logits(x[last : last + 1])

    @torch.inference_mode()
    def decode(self, ids: Tensor, positions: Tensor, longest: int) -> Tensor:
        """One token for every slot: `ids` [S] go to `positions` [S], the greatest of which is `longest`.

        Returns logits [S, V]. Rows of idle slots (position 0) hold nothing of meaning.
        """
        width = (longest // CHUNK + 1) * CHUNK
        group = self._heads // self._kv
        mask = torch.zeros(self.slots, 1, 1, width)
        mask.masked_fill_((self._columns[:width] > positions[:, None])[:, None, None], -torch.inf)
        mask = mask.expand(-1, -1, group, -1)
        x = F.embedding(ids, self._embedding)  # [S, D]
        for layer, cache in zip(self._layers, self.cache, strict=True):
            q, k, v = self._project(x, layer, layer.cos[positions], layer.sin[positions])
            cache[0][self._rows, :, positions] = k
            cache[1][self._rows, :, positions] = v
            q = q.view(self.slots, self._kv, group, -1)
            keys, values = cache[0, :, :, :width], cache[1, :, :, :width]
            mixed = F.scaled_dot_product_attention(q, keys, values, mask, scale=1.0)
            x = self._finish(x, mixed.reshape(self.slots, -1), layer)
        return self._logits(x)

    def _project(self, x: Tensor, layer: Layer, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries [N, H, E] and keys [N, K, E], normed and rotated, and values [N, K, E]."""
        heads = self._heads + self._kv
        fused = F.linear(self._norm(x), layer.qkv).view(len(x), -1, self._head_size)
        turned = self._norm(fused[:, :heads])
        half = self._head_size // 2
        swapped = torch.cat((turned[..., half:], turned[..., :half]), -1)
        turned = turned.mul_(cos).addcmul_(swapped, sin)
        return turned[:, : self._heads], turned[:, self._heads :], fused[:, heads:]

    def _finish(self, x: Tensor, mixed: Tensor, layer: Layer) -> Tensor:
        x = x + F.linear(mixed, layer.output)
        gate, up = F.linear(self._norm(x), layer.gate_up).chunk(2, -1)
        return x + F.linear(F.silu(gate).mul_(up), layer.down)

    def _logits(self, x: Tensor) -> Tensor:
        return F.linear(self._norm(x), self._head)

    def _norm(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True).add_(self._epsilon))

    def _layer(self, weights: dict[str, Tensor], index: int, rotation: tuple[Tensor, Tensor]) -> Layer:
        def weight(name: str) -> Tensor:
            return weights[f"model.layers.{index}.{name}.weight"]

        gain = weight("input_layernorm")
        fused = torch.cat([weight(f"self_attn.{part}_proj") for part in "qkv"])
        up_gain = weight("post_attention_layernorm")
        gate_up = torch.cat([weight("mlp.gate_proj"), weight("mlp.up_proj")])
        # [H + K, E]
        turn = torch.cat(
            [
                (weight("self_attn.q_norm") * self._head_size**-0.5).expand(self._heads, -1),
                weight("self_attn.k_norm").expand(self._kv, -1),
            ]
        )
        cos, sin = rotation
        return Layer(
            qkv=(fused * gain).contiguous(),
            output=weight("self_attn.o_proj").contiguous(),
            gate_up=(gate_up * up_gain).contiguous(),
            down=weight("mlp.down_proj").contiguous(),
            cos=cos[:, None] * turn,
            sin=sin[:, None] * turn.roll(self._head_size // 2, -1),
        )


def _rotation(positions: int, size: int, theta: float) -> tuple[Tensor, Tensor]:
    """Cosine and signed sine [P, E] of rotary embedding in the half-split layout of transformers."""
    frequency = theta ** -(torch.arange(0, size, 2).float() / size)
    angle = torch.outer(torch.arange(positions).float(), frequency)
    sine = angle.sin()
    return torch.cat((angle.cos(), angle.cos()), -1), torch.cat((-sine, sine), -1)
