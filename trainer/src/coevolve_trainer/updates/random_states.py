"""The states of all random number generators of a process, as tensors."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import numpy
import torch
from torch import Tensor


def capture_random_states() -> dict[str, Tensor]:
    """Returns the states of torch on the CPU and on this process's GPU, of numpy and of Python."""
    legacy: Any = numpy.random.get_state()
    _, keys, position, has_gauss, gauss = legacy
    version, words, next_gauss = random.getstate()
    states = {
        "torch": torch.get_rng_state(),
        "numpy": torch.tensor([*keys.tolist(), position, has_gauss], dtype=torch.int64),
        "numpy.gauss": torch.tensor(gauss, dtype=torch.float64),
        "python": torch.tensor([version, *words], dtype=torch.int64),
    }
    if next_gauss is not None:
        states["python.gauss"] = torch.tensor(next_gauss, dtype=torch.float64)
    if torch.cuda.is_available():
        states["cuda"] = torch.cuda.get_rng_state()
    return states


def restore_random_states(states: Mapping[str, Tensor]) -> None:
    """Restores captured states; ignores the state of a GPU where there is none."""
    torch.set_rng_state(states["torch"])
    *keys, position, has_gauss = states["numpy"].tolist()
    legacy: Any = ("MT19937", keys, position, has_gauss, states["numpy.gauss"].item())
    numpy.random.set_state(legacy)
    version, *words = states["python"].tolist()
    next_gauss = states["python.gauss"].item() if "python.gauss" in states else None
    random.setstate((version, tuple(words), next_gauss))
    if torch.cuda.is_available() and "cuda" in states:
        torch.cuda.set_rng_state(states["cuda"])
