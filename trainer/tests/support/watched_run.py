"""What is compared of three updates, and how both trainers are watched: from outside, by torch's own hook."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.optim.optimizer import Optimizer, register_optimizer_step_pre_hook

UPDATES = 3
RATE = 5e-5
"""AdamW makes a step of rounding noise where a gradient is no larger: of 4,096 weights one differed by 9 % of
the rate. At this one such noise stays below 1e-5, and a wrong gradient still moves weights by more."""
NO_CLIPPING = 1e9


class Run(NamedTuple):
    losses: list[float]  # nats, of every update
    gradient: dict[str, Tensor]  # of every trained parameter in the first update
    weights: dict[str, Tensor]  # after the last update, by the names of a policy's file


@contextmanager
def first_gradient() -> Iterator[list[tuple[Tensor, Tensor]]]:
    """A list that holds each parameter and its gradient, once an optimizer makes its first step."""
    found: list[tuple[Tensor, Tensor]] = []

    def remember(optimizer: Optimizer, *_: Any) -> None:
        if not found:
            found.extend((p, p.grad.clone()) for group in optimizer.param_groups for p in group["params"])

    handle = register_optimizer_step_pre_hook(remember)
    try:
        yield found
    finally:
        handle.remove()


def assert_equal_runs(ours: Run, theirs: Run) -> None:
    """Losses, gradients and weights agree to 1e-5."""
    assert len(ours.losses) == len(theirs.losses) == UPDATES
    assert_equal("losses", torch.tensor(ours.losses), torch.tensor(theirs.losses))
    for own, other in ((ours.gradient, theirs.gradient), (ours.weights, theirs.weights)):
        assert own.keys() == other.keys()
        for name, tensor in own.items():
            assert_equal(name, tensor, other[name])


def assert_equal(name: str, ours: Tensor, theirs: Tensor) -> None:
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5, msg=lambda text: f"{name}: {text}")
