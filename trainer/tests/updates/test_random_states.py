"""Random states: what a checkpoint keeps of them is all that draws depend on."""

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


def test_the_same_numbers_are_drawn_after_a_state_was_stored_and_restored(tmp_path: Path) -> None:
    for odd in (False, True):
        if odd:  # of a pair of normal numbers the second one waits to be drawn
            random.gauss(0, 1)
            numpy.random.normal()
        save_file(capture_random_states(), tmp_path / "random.safetensors")
        expected = draws()
        draws()
        restore_random_states(load_file(tmp_path / "random.safetensors"))
        assert draws() == expected
