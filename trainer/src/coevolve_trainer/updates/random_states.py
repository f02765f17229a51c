"""The states of every random source that a process may draw from, as tensors."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import numpy
import torch
from torch import Tensor


def random_states() -> dict[str, Tensor]:
    """Of torch on the CPU and on this process's GPU, of numpy and of Python."""
    legacy: Any = numpy.random.get_state()
    _, keys, position, has_gauss, gauss = legacy
    version, words, waiting = random.getstate()
    states = {
        "torch": torch.get_rng_state(),
        "numpy": torch.tensor([*keys.tolist(), position, has_gauss], dtype=torch.int64),
        "numpy.gauss": torch.tensor(gauss, dtype=torch.float64),
        "python": torch.tensor([version, *words], dtype=torch.int64),
    }
    if waiting is not None:
        states["python.gauss"] = torch.tensor(waiting, dtype=torch.float64)
    if torch.cuda.is_available():
        states["cuda"] = torch.cuda.get_rng_state()
    return states


def restore_random_states(states: Mapping[str, Tensor]) -> None:
    """Takes over what `random_states` gave; the state of a GPU that is not there is passed over."""
    torch.set_rng_state(states["torch"])
    *keys, position, has_gauss = states["numpy"].tolist()
    legacy: Any = ("MT19937", keys, position, has_gauss, states["numpy.gauss"].item())
    numpy.random.set_state(legacy)
    version, *words = states["python"].tolist()
    waiting = states["python.gauss"].item() if "python.gauss" in states else None
    random.setstate((version, tuple(words), waiting))
    if torch.cuda.is_available() and "cuda" in states:
        torch.cuda.set_rng_state(states["cuda"])
