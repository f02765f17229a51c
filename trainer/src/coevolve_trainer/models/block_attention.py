"""Attention over a row of blocks: each token sees its own stretch up to itself, and the blocks before it.

Registered with transformers as an implementation of attention, so that any of its decoders can use it. One
kernel call per block: no padding is computed, no mask of [N, N] is made, and no token sees
another trajectory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..data.rows import Block

if TYPE_CHECKING:
    from transformers import PreTrainedModel

NAME = "coevolve_blocks"


def attend_by_blocks(model: PreTrainedModel) -> None:
    """From here on the model's attention takes `blocks`; without them it is causal over whole rows."""
    from transformers import AttentionInterface

    AttentionInterface.register(NAME, attention)
    model.config._attn_implementation = NAME


def attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    scaling: float | None = None,
    dropout: float = 0.0,
    blocks: Sequence[Block] | None = None,
    masks: Sequence[Tensor | None] = (),
    **_: Any,
) -> tuple[Tensor, None]:
    """[1, N, H, E] from query [1, H, N, E], key and value [1, K, N, E], where K divides H.

    `masks` holds one entry per block, as `masks_of` gives them.
    """
    alike: dict[str, Any] = {
        "scale": scaling,
        "dropout_p": dropout,
        "enable_gqa": query.shape[1] != key.shape[1],
    }
    if blocks is None:
        found = F.scaled_dot_product_attention(
            query, key, value, attention_mask, is_causal=attention_mask is None, **alike
        )
        return found.transpose(1, 2), None
    sizes = [block.stretches * block.width for block in blocks]
    queries, keys, values = (torch.split(x, sizes, dim=2) for x in (query, key, value))
    results = []
    for block, mask, q, own_k, own_v in zip(blocks, masks, queries, keys, values, strict=True):
        q, k, v = (_stretches(x, block) for x in (q, own_k, own_v))
        if block.before:
            k, v = (_after(own, [x[i] for i in block.before]) for own, x in ((k, keys), (v, values)))
        found = F.scaled_dot_product_attention(q, k, v, mask, is_causal=mask is None, **alike)
        results.append(found.transpose(1, 2).flatten(0, 1))  # [stretches * width, H, E]
    return torch.cat(results)[None], None


def _stretches(flat: Tensor, block: Block) -> Tensor:
    """[stretches, H, width, E] of [1, H, stretches * width, E]."""
    return (
        flat
        if block.stretches == 1
        else flat[0].view(len(flat[0]), block.stretches, block.width, -1).transpose(0, 1)
    )


def _after(own: Tensor, before: Sequence[Tensor]) -> Tensor:
    return torch.cat([*(x.expand(len(own), -1, -1, -1) for x in before), own], dim=2)


def masks_of(blocks: Sequence[Block], dtype: torch.dtype, device: torch.device) -> list[Tensor | None]:
    """What each block's scores are added to, [width, tokens seen]; none for a block with nothing before it.

    The last token of a stretch sees all, each one before it one less.
    """
    masks: list[Tensor | None] = []
    for block in blocks:
        if block.before:
            past = sum(blocks[i].width for i in block.before)
            hidden = torch.full((block.width, past + block.width), float("-inf"), dtype=dtype, device=device)
            masks.append(hidden.triu(past + 1))
        else:
            masks.append(None)
    return masks
