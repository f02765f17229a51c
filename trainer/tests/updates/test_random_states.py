"""Random numbers depend only on the captured random states."""

import random
from pathlib import Path

import numpy
import torch
from safetensors.torch import load_file, save_file

from coevolve_trainer.updates.random_states import capture_random_states, restore_random_states


def draws() -> list[float]:
    return [
        *torch.rand(3).tolist(),
        *torch.nn.functional.dropout(torch.ones(8)).tolist(),
        *numpy.random.normal(size=3).tolist(),
        *(random.gauss(0, 1) for _ in range(3)),
    ]


def test_restored_states_give_the_same_random_numbers(tmp_path: Path) -> None:
    for has_cached_gauss in (False, True):
        if has_cached_gauss:  # the generators make normal numbers in pairs and cache the second
            random.gauss(0, 1)
            numpy.random.normal()
        save_file(capture_random_states(), tmp_path / "random.safetensors")
        expected = draws()
        draws()
        restore_random_states(load_file(tmp_path / "random.safetensors"))
        assert draws() == expected
