"""Weights of patterns for each kind of draw: the option `mix` of environments that generate their tasks."""

import math
from collections.abc import Collection, Mapping
from typing import Any

from coevolve_environments.plugins.validation import refuse_unknown
from coevolve_environments.protocol import BadRequest

Weights = Mapping[str, float]
"""Weight per pattern, above 0. A pattern without a weight is not drawn."""
DRAWS = ("train", "heldOut", "proposal")
"""Seed tasks, evaluation tasks, and candidates of the relation `random`."""


def read_mix(options: Mapping[str, Any], patterns: Collection[str]) -> dict[str, Weights]:
    """Returns the weights of the draws that have some; empty if the option is absent or null.

    Raises:
        BadRequest: an unknown draw or pattern, or a weight that is no number from 0 to 1e6.
    """
    mix = options.get("mix")
    if mix is None:
        return {}
    if not isinstance(mix, dict):
        raise BadRequest(f"`options.mix` must be an object with {', '.join(DRAWS)}, got {mix!r}")
    refuse_unknown(mix, DRAWS)
    return {
        draw: _read_weights(weights, f"options.mix.{draw}", patterns)
        for draw, weights in mix.items()
        if weights is not None
    }


class Quotas:
    """Chooses patterns so that every beginning of a draw has the shares of the weights, to one task."""

    def __init__(self, weights: Weights) -> None:
        self._weights = dict(weights)
        self._drawn = dict.fromkeys(weights, 0)

    def next(self) -> str | None:
        """Returns the pattern that is furthest below its share, the first of equals; None if none is left.

        The rule is Webster's for seats: the largest weight / (drawn + 1/2).
        """
        return max(
            self._weights, key=lambda name: self._weights[name] / (self._drawn[name] + 0.5), default=None
        )

    def count(self, pattern: str) -> None:
        self._drawn[pattern] += 1

    def remove(self, pattern: str) -> None:
        """Leaves the share of a pattern without further tasks to the others."""
        del self._weights[pattern]


def _read_weights(weights: object, name: str, patterns: Collection[str]) -> Weights:
    if not isinstance(weights, dict):
        raise BadRequest(f"`{name}` must be an object of weights per pattern or null, got {weights!r}")
    for pattern, weight in weights.items():
        if pattern not in patterns:
            raise BadRequest(f"`{name}` has a weight for {pattern!r}; known: {', '.join(patterns)}")
        is_number = isinstance(weight, int | float) and not isinstance(weight, bool)
        if not is_number or not math.isfinite(weight) or not 0 <= weight <= 1e6:
            raise BadRequest(f"`{name}.{pattern}` must be a number from 0 to 1e6, got {weight!r}")
    # In one order, so that equal weights in another order give the same draw
    positive = {pattern: float(weights[pattern]) for pattern in patterns if weights.get(pattern, 0) > 0}
    if not positive:
        raise BadRequest(f"`{name}` must have a weight above 0, got {weights!r}")
    return positive
