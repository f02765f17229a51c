"""Sizes of decoding passes in which a request's numbers do not depend on the concurrent requests.

Matrix kernels choose the order of their sums by shape. MKL's float32 product has one order for 1 row,
another for 2 and 3, and a third from 4 rows on; kernels differ by processor and type. Therefore the sizes
are measured when the first policy of a shape is loaded: a size is used if each of its rows has the bits that
a pass over all slots gives it, in another slot and with more masked positions.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

CONTEXT = 400  # positions that the measured rows attend to
WIDER = 700  # further masked positions: torch's attention computes blocks of 512
# Rounding to bfloat16 hides all but about 1 in 10,000 differences between two orders of a sum
ROUNDED_SUMS = 2**20


class MeasuredDecoder(Protocol):
    """The members of a decoder that a measurement uses."""

    dtype: torch.dtype
    context: int
    slots: int
    cache: Tensor

    @property
    def vocabulary(self) -> int: ...
    @property
    def kernel_shapes(self) -> tuple[object, ...]:
        """All sizes and types that decide about the kernels of a decoding pass."""

    @property
    def sums_per_token(self) -> int:
        """Elements of the matrix products of all layers for one token."""

    def decode_range(self, first: int, ids: Tensor, positions: Tensor, longest: int) -> Tensor: ...


_found: dict[tuple[object, ...], tuple[int, ...]] = {}


def find_batch_sizes(decoder: MeasuredDecoder) -> tuple[int, ...]:
    """Returns sizes in ascending order, the last of which is all slots; none if even those differ by slot.

    Kernels depend on shapes and types alone: the policies of one shape share a measurement.
    """
    if decoder.kernel_shapes not in _found:
        measured = _measure(decoder)
        if measured is None:  # logits that are not finite prove nothing, and no request will use them
            return (decoder.slots,)
        _found[decoder.kernel_shapes] = measured
    return _found[decoder.kernel_shapes]


def _measure(decoder: MeasuredDecoder) -> tuple[int, ...] | None:
    generator = torch.Generator().manual_seed(0)
    last = decoder.context - 1
    position = min(CONTEXT, last // 2)
    # One layer's context suffices: its bits reach the logits through all others
    context = decoder.cache[0, :, :1, :, :position]
    shared = torch.randn(context.shape, generator=generator).to(decoder.dtype)
    decoder.cache[0, :, :, :, :position] = shared

    def rows(ids: Tensor, longest: int) -> Tensor:
        return decoder.decode_range(0, ids, torch.full_like(ids, position), longest)

    sizes = [*(2**n for n in range((decoder.slots - 1).bit_length())), decoder.slots]
    for _ in range(_round_count(decoder)):
        ids = torch.randint(decoder.vocabulary, (decoder.slots,), generator=generator)
        expected = rows(ids, position)
        if not expected.isfinite().all():
            return None
        moved, wider = ids.roll(1), min(position + WIDER, last)
        expected = expected.roll(1, 0)
        sizes = [size for size in sizes if torch.equal(rows(moved[:size], wider), expected[:size])]
    return tuple(sizes) if decoder.slots in sizes else ()


def _round_count(decoder: MeasuredDecoder) -> int:
    if decoder.dtype == torch.float32:
        return 1
    return min(16, -(-ROUNDED_SUMS // (decoder.slots * decoder.sums_per_token)))
