"""Attention over a packed row: each token attends to its own node up to itself, and to its prefix blocks.

Registered with transformers as an attention implementation, so that any of its decoders can use it. There is
one kernel call per block: no padding is computed, no [N, N] mask is built, and no token attends to another
trajectory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ...data.packed_batch import Block
from ...failures import bad_input
from .tiled_attention import Tile, plan_tiles, tiled_attention

if TYPE_CHECKING:
    from transformers import PreTrainedModel

NAME = "coevolve_blocks"
FAMILIES = {"llama", "qwen2", "qwen3", "olmo2"}
"""Model types whose layers are verified to pass `attention_plan` on: a layer that dropped it would attend to
other trajectories, without an error."""
MIN_TILED_SCORES = 2**14
"""Scores per head and node from which tiles are faster on a CPU than one call of torch's kernel."""


class AttentionCall(NamedTuple):
    """The queries of one kernel call, and the pieces of the row that contain their keys."""

    node_count: int
    query_count: int  # over all nodes
    pieces: tuple[int, ...]  # the last piece contains the queries' own nodes
    mask: Tensor | None
    """[queries, keys], added to the scores; None if all tokens of one piece attend to that piece only."""
    tiles: tuple[Tile, ...] = ()
    """The same in tiles, if those are faster."""


class AttentionPlan(NamedTuple):
    """All kernel calls over a row. Built once per batch and used by all layers."""

    piece_sizes: list[int]  # tokens of each piece of the row
    calls: list[AttentionCall]


def unsupported_by_blocks(config: Any) -> str | None:
    """Returns the property of a model's configuration that rules this attention out, if any."""
    if config.model_type not in FAMILIES:
        return f"model_type {config.model_type}"
    kinds = set(getattr(config, "layer_types", None) or ["full_attention"])
    return None if kinds == {"full_attention"} else f"layer_types {', '.join(sorted(kinds))}"


def use_block_attention(model: PreTrainedModel) -> None:
    """Makes the model's attention accept an `attention_plan`; without one it is causal over whole rows.

    Raises:
        JobFailure: `bad-input` for a model that it cannot compute.
    """
    from transformers import AttentionInterface

    unsupported = unsupported_by_blocks(model.config)
    if unsupported is not None:
        raise bad_input("settings.kernels", f"cpu with {unsupported}", "auto or transformers")
    AttentionInterface.register(NAME, block_attention)
    model.config._attn_implementation = NAME


def block_attention(
    module: nn.Module | None,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    scaling: float | None = None,
    dropout: float = 0.0,
    attention_plan: AttentionPlan | None = None,
    **_: Any,
) -> tuple[Tensor, None]:
    """Returns [1, Q, H, E] from query [1, H, Q, E], key and value [1, K, N, E], where K divides H."""
    options: dict[str, Any] = {
        "scale": scaling,
        "dropout_p": dropout,
        "enable_gqa": query.shape[1] != key.shape[1],
    }
    if attention_plan is None:
        causal = attention_mask is None
        output = F.scaled_dot_product_attention(
            query, key, value, attention_mask, is_causal=causal, **options
        )
        return output.transpose(1, 2), None
    calls = attention_plan.calls
    queries = torch.split(query, [call.query_count for call in calls], dim=2)
    keys, values = (torch.split(x, attention_plan.piece_sizes, dim=2) for x in (key, value))
    outputs = []
    for call, call_queries in zip(calls, queries, strict=True):
        q = _split_nodes(call_queries, call.node_count)
        k, v = (_join_pieces([pieces[i] for i in call.pieces], call.node_count) for pieces in (keys, values))
        if call.tiles and not dropout and scaling is not None:
            output = tiled_attention(q, k, v, call.tiles, scaling)
        else:
            causal = call.mask is None
            output = F.scaled_dot_product_attention(q, k, v, call.mask, is_causal=causal, **options)
        outputs.append(output.transpose(1, 2).flatten(0, 1))  # [queries, H, E]
    return torch.cat(outputs)[None], None


def plan_attention(blocks: Sequence[Block], dtype: torch.dtype, device: torch.device) -> AttentionPlan:
    """Plans the attention of all tokens of the row; each block is a piece."""
    calls = []
    for index, block in enumerate(blocks):
        prefix_tokens = sum(blocks[i].width for i in block.prefix)
        last_keys = torch.arange(block.width, device=device) + prefix_tokens
        key_count = prefix_tokens + block.width
        mask = _mask(last_keys, key_count, dtype) if block.prefix else None
        # For plain causal attention torch's kernel is as fast in float32
        may_tile = block.prefix or dtype == torch.bfloat16
        tiles = _tiles(last_keys, key_count) if may_tile else ()
        query_count = block.node_count * block.width
        calls.append(AttentionCall(block.node_count, query_count, (*block.prefix, index), mask, tiles))
    return AttentionPlan([block.node_count * block.width for block in blocks], calls)


def plan_query_attention(blocks: Sequence[Block], query_indices: Tensor, dtype: torch.dtype) -> AttentionPlan:
    """Plans the attention of the tokens at `query_indices` [Q], in ascending order; each node is a piece."""
    piece_sizes: list[int] = []
    first_piece: list[int] = []  # one per block
    for block in blocks:
        first_piece.append(len(piece_sizes))
        piece_sizes += [block.width] * block.node_count
    block_of_piece = [block for block in blocks for _ in range(block.node_count)]
    edges = torch.tensor([0, *piece_sizes], device=query_indices.device).cumsum(0)
    counts = torch.searchsorted(query_indices, edges).diff().tolist()
    calls, start = [], 0
    for piece, (block, count) in enumerate(zip(block_of_piece, counts, strict=True)):
        if count:
            prefix_tokens = sum(blocks[i].width for i in block.prefix)
            last_keys = query_indices[start : start + count] - edges[piece] + prefix_tokens
            key_count = prefix_tokens + block.width
            mask, tiles = _mask(last_keys, key_count, dtype), _tiles(last_keys, key_count)
            pieces = (*(first_piece[i] for i in block.prefix), piece)
            calls.append(AttentionCall(1, count, pieces, mask, tiles))
            start += count
    return AttentionPlan(piece_sizes, calls)


def _tiles(last_keys: Tensor, key_count: int) -> tuple[Tile, ...]:
    """Returns tiles of the queries if there are enough scores on a CPU; `last_keys` as in `plan_tiles`."""
    is_faster = last_keys.device.type == "cpu" and len(last_keys) * key_count >= MIN_TILED_SCORES
    return plan_tiles(last_keys) if is_faster else ()


def _mask(last_keys: Tensor, key_count: int, dtype: torch.dtype) -> Tensor:
    """Returns [Q, keys]: 0 up to each query's last visible key, minus infinity after it."""
    hidden = torch.arange(key_count, device=last_keys.device) > last_keys[:, None]
    return torch.zeros(hidden.shape, dtype=dtype, device=last_keys.device).masked_fill_(hidden, float("-inf"))


def _split_nodes(flat: Tensor, count: int) -> Tensor:
    """Returns [count, H, width, E] of [1, H, count * width, E]."""
    if count == 1:
        return flat
    _, heads, tokens, size = flat.shape
    return flat[0].view(heads, count, tokens // count, size).transpose(0, 1)


def _join_pieces(pieces: Sequence[Tensor], count: int) -> Tensor:
    """Joins the keys, or values, of the prefix, which all nodes share, with each node's."""
    own = _split_nodes(pieces[-1], count)
    if len(pieces) == 1:
        return own
    return torch.cat([*(x.expand(count, -1, -1, -1) for x in pieces[:-1]), own], dim=2)
