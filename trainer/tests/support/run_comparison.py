"""Comparison of three updates by two trainers; gradients are recorded by a hook of torch's optimizers."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.optim.optimizer import Optimizer, register_optimizer_step_pre_hook

UPDATES = 3
RATE = 5e-5
"""Low, because the sign of a gradient as small as its rounding error is random, and so is AdamW's step: 1 of
4,096 weights differed by 9 % of the rate. With 5e-5 such errors remain below 1e-5; other errors do not."""
NO_CLIPPING = 1e9


class Run(NamedTuple):
    losses: list[float]  # nats, of every update
    gradient: dict[str, Tensor]  # in the first update, by trained parameter
    weights: dict[str, Tensor]  # after the last update, by their names in the policy's file


@contextmanager
def first_gradient() -> Iterator[list[tuple[Tensor, Tensor]]]:
    """Yields a list that contains each parameter and its gradient after the first step of an optimizer."""
    found: list[tuple[Tensor, Tensor]] = []

    def record(optimizer: Optimizer, *_: Any) -> None:
        if not found:
            found.extend((p, p.grad.clone()) for group in optimizer.param_groups for p in group["params"])

    handle = register_optimizer_step_pre_hook(record)
    try:
        yield found
    finally:
        handle.remove()


def assert_equal_runs(ours: Run, theirs: Run) -> None:
    """Asserts that losses, gradients and weights are equal to 1e-5."""
    assert len(ours.losses) == len(theirs.losses) == UPDATES
    assert_equal("losses", torch.tensor(ours.losses), torch.tensor(theirs.losses))
    for found, expected in ((ours.gradient, theirs.gradient), (ours.weights, theirs.weights)):
        assert found.keys() == expected.keys()
        for name, tensor in found.items():
            assert_equal(name, tensor, expected[name])


def assert_equal(name: str, ours: Tensor, theirs: Tensor) -> None:
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5, msg=lambda text: f"{name}: {text}")
