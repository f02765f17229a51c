"""Detects a diverging loss, as opposed to a single outlier."""

from __future__ import annotations

import math

from ..failures import JobFailure

LOSS_FACTOR = 3.0
CONSECUTIVE_UPDATES = 8
HARMLESS_LOSS = math.log(2)  # the preference loss of an untrained policy
MEAN_DECAY = 0.95  # the running mean covers about twenty updates


class DivergenceDetector:
    """A loss has diverged when it is not finite, or when for eight consecutive updates it exceeded three
    times its running mean, the loss of the first update and ln 2: then the policy is worse than before the
    training. A policy that starts near a loss of 0 may go through harder rows without harm.

    The running mean excludes these suspicious losses. A multiple of the mean is undefined for losses that may
    be negative (reinforcement learning), so those must only be finite.
    """

    def __init__(self, state: dict[str, float], *, nonnegative: bool) -> None:
        self.state = state
        self._nonnegative = nonnegative

    @property
    def is_suspicious(self) -> bool:
        """True while the newest losses exceed the limit; such a state must not become a checkpoint."""
        return self.state.get("above", 0) > 0

    def check(self, step: int, loss: float, grad_norm: float) -> None:
        """Raises `diverged`; called before the optimizer step, which is then skipped."""
        if not math.isfinite(loss) or not math.isfinite(grad_norm):
            raise JobFailure("diverged", f"update {step}: loss {loss}, gradient norm {grad_norm}")
        if not self._nonnegative:
            return
        first = self.state.setdefault("first", loss)
        mean = self.state.setdefault("mean", loss)
        if loss > max(LOSS_FACTOR * mean, first, HARMLESS_LOSS):
            self.state["above"] = self.state.get("above", 0) + 1
            if self.state["above"] >= CONSECUTIVE_UPDATES:
                limit = (
                    f"{CONSECUTIVE_UPDATES} updates above {LOSS_FACTOR:g} times the running mean {mean:.6g}"
                )
                raise JobFailure("diverged", f"update {step}: loss {loss:.6g}, {limit}")
        else:
            self.state |= {"above": 0, "mean": MEAN_DECAY * mean + (1 - MEAN_DECAY) * loss}
