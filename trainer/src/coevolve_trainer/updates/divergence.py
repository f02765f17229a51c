"""Knows a loss that runs away from one that merely jumps."""

from __future__ import annotations

import math

from ..failures import JobFailure

FACTOR = 3.0
PATIENCE = 8
DECAY = 0.95  # of the running mean: some twenty updates


class Divergence:
    """A loss has diverged when it is not finite, or when for eight updates in a row it was above three times
    its running mean and above that of the first update: then the policy is worse than before it learnt.

    The running mean leaves out the losses that are under suspicion. Losses that may be negative, as those of
    reinforcement learning, have no such multiple: of them only a finite value is asked.
    """

    def __init__(self, state: dict[str, float], *, nonnegative: bool) -> None:
        self.state = state
        self._nonnegative = nonnegative

    @property
    def is_suspected(self) -> bool:
        """Whether the newest losses are such; a checkpoint of now may be none to go back to."""
        return self.state.get("above", 0) > 0

    def check(self, step: int, loss: float, grad_norm: float) -> None:
        """Raises `diverged`; called before the update is made, which then is not."""
        if not math.isfinite(loss) or not math.isfinite(grad_norm):
            raise JobFailure("diverged", f"update {step}: loss {loss}, gradient norm {grad_norm}")
        if not self._nonnegative:
            return
        first = self.state.setdefault("first", loss)
        mean = self.state.setdefault("mean", loss)
        if loss > max(FACTOR * mean, first):
            self.state["above"] = self.state.get("above", 0) + 1
            if self.state["above"] >= PATIENCE:
                found = f"loss {loss:.6g}, for {PATIENCE} updates above {FACTOR:g} times {mean:.6g}"
                raise JobFailure("diverged", f"update {step}: {found}, its running mean")
        else:
            self.state |= {"above": 0, "mean": DECAY * mean + (1 - DECAY) * loss}
