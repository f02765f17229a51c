"""Memory that is taken when it is written."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

LINE = 64 // 4  # floats of a cache line


def lazy_zeros(*shape: int) -> Tensor:
    """Zeros that cost memory only where they are written: most slots never see most of their positions.

    Zeros, because a masked position takes part with weight 0, and 0 times garbage may be NaN. Aligned to a
    cache line, as torch's own memory is, because matrix kernels may choose their order of sums by alignment.
    """
    size = math.prod(shape)
    memory = np.zeros(size + LINE, np.float32)
    offset = -memory.ctypes.data // 4 % LINE
    return torch.from_numpy(memory[offset : offset + size]).view(shape)
