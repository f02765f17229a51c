"""Attention on a CPU by tiles of queries, in large matrix products.

Scores and their softmax are float32 in any precision, as in torch's own kernel for CPUs. That kernel takes
twice as long in bfloat16 and computes the masked scores; a tile includes only the keys up to the last key of
its last query.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

TILE = 128  # queries: the scores of a tile, for the heads that share a key, fit into a core's cache
MAX_KEYS_KEPT = 2048
"""Max keys for which the softmax is kept for the backward pass. With more it is computed again, because its
size grows with their square."""


class Tile(NamedTuple):
    """A range of consecutive queries."""

    start: int
    end: int
    common_keys: int  # number of keys visible to all of them
    visible_keys: int  # number of keys visible to the last of them
    mask: Tensor  # [end - start, visible_keys - common_keys] added to the scores: 0 or minus infinity


def plan_tiles(last_keys: Tensor) -> tuple[Tile, ...]:
    """Returns the tiles of the queries whose last visible keys are `last_keys`, [Q] in ascending order."""
    tiles = []
    for start in range(0, len(last_keys), TILE):
        ends = last_keys[start : start + TILE]
        common_keys, visible_keys = int(ends[0]) + 1, int(ends[-1]) + 1
        hidden = torch.arange(common_keys, visible_keys) > ends[:, None]
        mask = torch.zeros(hidden.shape).masked_fill(hidden, -torch.inf)
        tiles.append(Tile(start, start + len(ends), common_keys, visible_keys, mask))
    return tuple(tiles)


def tiled_attention(query: Tensor, key: Tensor, value: Tensor, tiles: Sequence[Tile], scale: float) -> Tensor:
    """Returns [R, H, Q, E] from query [R, H, Q, E], key and value [R, K, S, E], where K divides H."""
    output: Tensor = _TiledAttention.apply(query, key, value, tiles, scale)  # type: ignore[no-untyped-call]
    return output


class _TiledAttention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, query: Tensor, key: Tensor, value: Tensor, tiles: Sequence[Tile], scale: float
    ) -> Tensor:
        keeps_softmax = any(ctx.needs_input_grad) and key.shape[2] <= MAX_KEYS_KEPT
        output = torch.empty_like(query, memory_format=torch.contiguous_format)
        kept = []
        for row, heads, kv in _head_groups(query, key):
            keys = key[row, kv].float()
            for tile in tiles:
                tile_queries = query[row, heads, tile.start : tile.end]
                weights = _softmax(tile_queries, keys, tile, scale).to(query.dtype)
                mixed = torch.mm(weights, value[row, kv, : tile.visible_keys])
                output[row, heads, tile.start : tile.end] = mixed.view(tile_queries.shape)
                if keeps_softmax:
                    kept.append(weights)
        ctx.save_for_backward(query, key, value, output, *kept)
        ctx.tiles, ctx.scale = tiles, scale
        return output

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        query, key, value, output, *kept = ctx.saved_tensors
        grad_query = torch.empty_like(query, memory_format=torch.contiguous_format)
        grad_key = torch.zeros_like(key, memory_format=torch.contiguous_format)
        grad_value = torch.zeros_like(grad_key)
        grad_dot_output = (grad.float() * output).sum(-1)  # [R, H, Q]
        next_kept = iter(kept)
        for row, heads, kv in _head_groups(query, key):
            keys, values = key[row, kv].float(), value[row, kv].float()
            for tile in ctx.tiles:
                queries, seen = slice(tile.start, tile.end), tile.visible_keys
                tile_queries = query[row, heads, queries]
                weights = (
                    next(next_kept) if kept else _softmax(tile_queries, keys, tile, ctx.scale).to(query.dtype)
                )
                tile_grad = grad[row, heads, queries].reshape(-1, grad.shape[-1])
                grad_value[row, kv, :seen].addmm_(weights.T, tile_grad)
                grad_scores = torch.mm(tile_grad.float(), values[:seen].T)
                dot = grad_dot_output[row, heads, queries].reshape(-1, 1)
                grad_scores = grad_scores.sub_(dot).mul_(weights).mul_(ctx.scale).to(query.dtype)
                grad_query[row, heads, queries] = torch.mm(grad_scores, key[row, kv, :seen]).view(
                    tile_queries.shape
                )
                grad_key[row, kv, :seen].addmm_(grad_scores.T, tile_queries.reshape(tile_grad.shape))
        return grad_query, grad_key, grad_value, None, None


def _head_groups(query: Tensor, key: Tensor) -> Iterator[tuple[int, slice, int]]:
    """Yields each row, the slice of query heads that share a key head, and that key head."""
    size = query.shape[1] // key.shape[1]
    for row in range(query.shape[0]):
        for kv in range(key.shape[1]):
            yield row, slice(kv * size, (kv + 1) * size), kv


def _softmax(queries: Tensor, keys: Tensor, tile: Tile, scale: float) -> Tensor:
    """Returns attention weights [heads * queries, visible keys] of [heads, queries, E] and [S, E]."""
    flat = queries.reshape(-1, queries.shape[-1]).float()
    scores = torch.mm(flat, keys[: tile.visible_keys].T).mul_(scale)
    scores.view(*queries.shape[:2], -1)[..., tile.common_keys :].add_(tile.mask)
    return scores.softmax(-1)
