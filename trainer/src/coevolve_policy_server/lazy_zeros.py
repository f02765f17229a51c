"""Tensors whose memory is allocated when it is first written."""

from __future__ import annotations

import math
import mmap

import torch
from torch import Tensor


def lazy_zeros(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Returns zeros that use memory only after they are written: most slots use few of their positions.

    Zeros, because a masked position contributes with weight 0, and 0 times an undefined value may be NaN.
    Huge pages are disabled: with them a first token allocated a whole slot, 94 MB for SmolLM2 at 4096
    positions.
    """
    memory = mmap.mmap(-1, math.prod(shape) * dtype.itemsize)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):  # Linux
        memory.madvise(mmap.MADV_NOHUGEPAGE)
    return torch.frombuffer(memory, dtype=dtype).view(shape)
