"""Widths of attention in which a request's numbers do not depend on the longest concurrent request.

A pass attends to as many positions as its longest request has, and masks the others. They add exact zeros,
but matrix kernels choose the order of their sums by the width. MKL on an Intel Xeon splits sums over 320 to
512 positions in halves: a row of 300 tokens beside one of 500 had other bits than alone. Therefore the step
between widths is measured when the first policy of a shape is loaded.
"""

from __future__ import annotations

from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor

BLOCK = 512  # torch computes attention in blocks of so many positions; a masked block changes nothing
SMALLEST_STEP = 64
ROWS = 2 * 2 * BLOCK // SMALLEST_STEP  # two rows per smallest step


@cache
def find_width_step(query_shape: tuple[int, int, int], positions: int, dtype: torch.dtype) -> int:
    """Returns the smallest step with which wider passes give rows the same bits; else all positions.

    `query_shape` is [K, G, E]; `positions` is the number that a slot of the cache has.
    """
    limit = min(2 * BLOCK, positions)
    steps = [SMALLEST_STEP * 2**n for n in range((BLOCK // SMALLEST_STEP).bit_length())]
    return next((step for step in steps if _is_exact(step, query_shape, limit, dtype)), positions)


def attention_mask(positions: Tensor, width: int, group: int, dtype: torch.dtype) -> Tensor:
    """Returns the mask [N, 1, G, width] of attention by tokens at `positions` [N]."""
    mask = torch.zeros(len(positions), 1, 1, width, dtype=dtype)
    mask.masked_fill_((torch.arange(width) > positions[:, None])[:, None, None], -torch.inf)
    return mask.expand(-1, -1, group, -1)


def _is_exact(step: int, query_shape: tuple[int, int, int], limit: int, dtype: torch.dtype) -> bool:
    """Compares rows of many lengths in all widths of two blocks; further blocks are like the second one."""
    generator = torch.Generator().manual_seed(0)
    heads, group, size = query_shape
    queries = torch.randn(ROWS, heads, group, size, generator=generator).to(dtype)
    context = torch.randn(2, 1, heads, limit, size, generator=generator).to(dtype)
    keys, values = context.expand(-1, ROWS, -1, -1, -1)
    positions = torch.linspace(1, limit - 1, ROWS).long()
    narrowest: dict[int, Tensor] = {}
    for width in [*range(step, limit, step), limit]:
        mask = attention_mask(positions, width, group, dtype)
        mixed = F.scaled_dot_product_attention(queries, keys[:, :, :width], values[:, :, :width], mask)
        for row in (positions < width).nonzero().flatten().tolist():
            if not torch.equal(narrowest.setdefault(row, mixed[row]), mixed[row]):
                return False
    return True
