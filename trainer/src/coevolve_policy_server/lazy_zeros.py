"""Memory that is taken when it is written."""

from __future__ import annotations

import math
import mmap

import torch
from torch import Tensor


def lazy_zeros(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Zeros that cost memory only where they are written: most slots never see most of their positions.

    Zeros, because a masked position takes part with weight 0, and 0 times garbage may be NaN. Pages are as
    small as they can be: with huge ones a first token took a whole slot, 94 MB of SmolLM2 at 4096 positions.
    """
    memory = mmap.mmap(-1, math.prod(shape) * dtype.itemsize)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):  # Linux
        memory.madvise(mmap.MADV_NOHUGEPAGE)
    return torch.frombuffer(memory, dtype=dtype).view(shape)
