"""Attention on a CPU by tiles of queries, in large matrix products.

Scores and their softmax are float32 in any precision, as in torch's own kernel for CPUs, which takes twice as
long in bfloat16 and computes the scores that a mask hides. A tile sees the keys up to its last query's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

TILE = 128  # queries: scores of a tile, times the heads that share a key, stay in a core's cache
KEPT_KEYS = 2048
"""Up to so many keys the softmax is kept for the backward pass; beyond that it is computed again, because
what is kept grows with their square."""


class Tile(NamedTuple):
    """Some queries one after the other."""

    start: int
    end: int
    free: int  # keys that all of them see
    seen: int  # keys that the last of them sees
    hidden: Tensor  # [end - start, seen - free] to be added to the scores: 0, or minus infinity


def tiles_of(last: Tensor) -> tuple[Tile, ...]:
    """Tiles of the queries of a stretch from the last key that each of them sees, [Q] in ascending order."""
    tiles = []
    for start in range(0, len(last), TILE):
        ends = last[start : start + TILE]
        free, seen = int(ends[0]) + 1, int(ends[-1]) + 1
        after = torch.arange(free, seen) > ends[:, None]
        hidden = torch.zeros(after.shape).masked_fill(after, -torch.inf)
        tiles.append(Tile(start, start + len(ends), free, seen, hidden))
    return tuple(tiles)


def tiled_attention(query: Tensor, key: Tensor, value: Tensor, tiles: Sequence[Tile], scale: float) -> Tensor:
    """[R, H, Q, E] from query [R, H, Q, E], key and value [R, K, S, E], where K divides H."""
    found: Tensor = _Tiled.apply(query, key, value, tiles, scale)  # type: ignore[no-untyped-call]
    return found


class _Tiled(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, query: Tensor, key: Tensor, value: Tensor, tiles: Sequence[Tile], scale: float
    ) -> Tensor:
        keep = any(ctx.needs_input_grad) and key.shape[2] <= KEPT_KEYS
        found = torch.empty_like(query, memory_format=torch.contiguous_format)
        kept = []
        for row, heads, kv in _groups(query, key):
            keys = key[row, kv].float()
            for tile in tiles:
                asked = query[row, heads, tile.start : tile.end]
                shares = _shares(asked, keys, tile, scale).to(query.dtype)
                mixed = torch.mm(shares, value[row, kv, : tile.seen])
                found[row, heads, tile.start : tile.end] = mixed.view(asked.shape)
                if keep:
                    kept.append(shares)
        ctx.save_for_backward(query, key, value, found, *kept)
        ctx.tiles, ctx.scale = tiles, scale
        return found

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        query, key, value, found, *kept = ctx.saved_tensors
        to_query = torch.empty_like(query, memory_format=torch.contiguous_format)
        to_key = torch.zeros_like(key, memory_format=torch.contiguous_format)
        to_value = torch.zeros_like(to_key)
        along = (grad.float() * found).sum(-1)  # [R, H, Q]
        shares_of = iter(kept)
        for row, heads, kv in _groups(query, key):
            keys, values = key[row, kv].float(), value[row, kv].float()
            for tile in ctx.tiles:
                at = slice(tile.start, tile.end)
                asked = query[row, heads, at]
                shares = next(shares_of) if kept else _shares(asked, keys, tile, ctx.scale).to(query.dtype)
                slope = grad[row, heads, at].reshape(-1, grad.shape[-1])
                to_value[row, kv, : tile.seen].addmm_(shares.T, slope)
                to_scores = torch.mm(slope.float(), values[: tile.seen].T)
                to_scores.sub_(along[row, heads, at].reshape(-1, 1)).mul_(shares).mul_(ctx.scale)
                to_scores = to_scores.to(query.dtype)
                to_query[row, heads, at] = torch.mm(to_scores, key[row, kv, : tile.seen]).view(asked.shape)
                to_key[row, kv, : tile.seen].addmm_(to_scores.T, asked.reshape(slope.shape))
        return to_query, to_key, to_value, None, None


def _groups(query: Tensor, key: Tensor) -> Iterator[tuple[int, slice, int]]:
    """Row by row the heads that share a key, and which."""
    size = query.shape[1] // key.shape[1]
    for row in range(query.shape[0]):
        for kv in range(key.shape[1]):
            yield row, slice(kv * size, (kv + 1) * size), kv


def _shares(asked: Tensor, keys: Tensor, tile: Tile, scale: float) -> Tensor:
    """What each key counts in each query: [heads * queries, seen] of [heads, queries, E] and [S, E]."""
    wide = asked.reshape(-1, asked.shape[-1]).float()
    scores = torch.mm(wide, keys[: tile.seen].T).mul_(scale)
    scores.view(*asked.shape[:2], -1)[..., tile.free :].add_(tile.hidden)
    return scores.softmax(-1)
