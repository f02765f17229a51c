"""Attention over a row of blocks: each token sees its own stretch up to itself, and the blocks before it.

Registered with transformers as an implementation of attention, so that any of its decoders can use it. One
kernel call per block: no padding is computed, no mask of [N, N] made, and no token sees another trajectory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ...data.packed_batch import Block
from ...failures import bad_input
from .tiled_attention import Tile, tiled_attention, tiles_of

if TYPE_CHECKING:
    from transformers import PreTrainedModel

NAME = "coevolve_blocks"
WORTH_TILES = 2**14
"""Scores of a head and stretch from which on tiles pay on a CPU: fewer are one call of torch's kernel."""


class Look(NamedTuple):
    """Queries that one kernel call answers, and the pieces of the row whose keys they see."""

    stretches: int
    queries: int  # of all stretches
    pieces: tuple[int, ...]  # the last is their own
    mask: Tensor | None
    """[queries, tokens seen], to be added to the scores; none where all of one piece ask and see it alone."""
    tiles: tuple[Tile, ...] = ()
    """The same in tiles, where those are faster."""


class Looks(NamedTuple):
    """What is to be computed over a row; equal looks of all layers are made once."""

    sizes: list[int]  # tokens of each piece of the row
    looks: list[Look]


def attend_by_blocks(model: PreTrainedModel) -> None:
    """From here on the model's attention takes `looks`; without them it is causal over whole rows.

    Raises:
        JobFailure: `bad-input` when a layer sees a window instead of everything before a token.
    """
    from transformers import AttentionInterface

    kinds = set(getattr(model.config, "layer_types", None) or ["full_attention"])
    if kinds != {"full_attention"}:
        raise bad_input(
            "layer_types of the policy", ", ".join(sorted(kinds)), "full_attention in every layer"
        )
    AttentionInterface.register(NAME, attention)
    model.config._attn_implementation = NAME


def attention(
    module: nn.Module | None,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    scaling: float | None = None,
    dropout: float = 0.0,
    looks: Looks | None = None,
    **_: Any,
) -> tuple[Tensor, None]:
    """[1, Q, H, E] from query [1, H, Q, E], key and value [1, K, N, E], where K divides H."""
    alike: dict[str, Any] = {
        "scale": scaling,
        "dropout_p": dropout,
        "enable_gqa": query.shape[1] != key.shape[1],
    }
    if looks is None:
        causal = attention_mask is None
        found = F.scaled_dot_product_attention(query, key, value, attention_mask, is_causal=causal, **alike)
        return found.transpose(1, 2), None
    queries = torch.split(query, [look.queries for look in looks.looks], dim=2)
    keys, values = (torch.split(x, looks.sizes, dim=2) for x in (key, value))
    results = []
    for look, own_queries in zip(looks.looks, queries, strict=True):
        q = _stretches(own_queries, look.stretches)
        k, v = (_seen([pieces[i] for i in look.pieces], look.stretches) for pieces in (keys, values))
        if look.tiles and not dropout and scaling is not None:
            found = tiled_attention(q, k, v, look.tiles, scaling)
        else:
            found = F.scaled_dot_product_attention(q, k, v, look.mask, is_causal=look.mask is None, **alike)
        results.append(found.transpose(1, 2).flatten(0, 1))  # [queries, H, E]
    return torch.cat(results)[None], None


def looks_of(blocks: Sequence[Block], dtype: torch.dtype, device: torch.device) -> Looks:
    """Every token of the row asks."""
    looks = []
    for own, block in enumerate(blocks):
        past = sum(blocks[i].width for i in block.before)
        offsets = torch.arange(block.width, device=device)
        last, seen = offsets + past, past + block.width
        mask = _mask(last, seen, dtype) if block.before else None
        # Where none is hidden but by order, torch's kernel is as fast in float32
        worth = block.before or dtype == torch.bfloat16
        tiles = _tiles(last, seen) if worth else ()
        looks.append(Look(block.stretches, block.stretches * block.width, (*block.before, own), mask, tiles))
    return Looks([block.stretches * block.width for block in blocks], looks)


def looks_of_some(blocks: Sequence[Block], asking: Tensor, dtype: torch.dtype) -> Looks:
    """The tokens at the places `asking` [Q] of the row ask, in ascending order; each stretch is a piece."""
    pieces: list[int] = []
    first: list[int] = []  # piece of each block
    for block in blocks:
        first.append(len(pieces))
        pieces += [block.width] * block.stretches
    owner = [block for block in blocks for _ in range(block.stretches)]
    edges = torch.tensor([0, *pieces], device=asking.device).cumsum(0)
    counts = torch.searchsorted(asking, edges).diff().tolist()
    looks, start = [], 0
    for own, (block, count) in enumerate(zip(owner, counts, strict=True)):
        if count:
            past = sum(blocks[i].width for i in block.before)
            offsets = asking[start : start + count] - edges[own]
            last, seen = offsets + past, past + block.width
            before = tuple(first[i] for i in block.before)
            looks.append(Look(1, count, (*before, own), _mask(last, seen, dtype), _tiles(last, seen)))
            start += count
    return Looks(pieces, looks)


def _tiles(last: Tensor, seen: int) -> tuple[Tile, ...]:
    """Tiles of the queries that see up to the keys `last`, where there are enough on a CPU."""
    pays = last.device.type == "cpu" and len(last) * seen >= WORTH_TILES
    return tiles_of(last) if pays else ()


def _mask(last: Tensor, seen: int, dtype: torch.dtype) -> Tensor:
    """[Q, seen]: 0 up to each query's last visible token, minus infinity after it."""
    hidden = torch.arange(seen, device=last.device) > last[:, None]
    return torch.zeros(hidden.shape, dtype=dtype, device=last.device).masked_fill_(hidden, float("-inf"))


def _stretches(flat: Tensor, count: int) -> Tensor:
    """[count, H, width, E] of [1, H, count * width, E]."""
    if count == 1:
        return flat
    _, heads, tokens, size = flat.shape
    return flat[0].view(heads, count, tokens // count, size).transpose(0, 1)


def _seen(pieces: Sequence[Tensor], count: int) -> Tensor:
    """The keys, or values, of what comes before, the same for all stretches, and then of their own."""
    own = _stretches(pieces[-1], count)
    if len(pieces) == 1:
        return own
    return torch.cat([*(x.expand(count, -1, -1, -1) for x in pieces[:-1]), own], dim=2)
