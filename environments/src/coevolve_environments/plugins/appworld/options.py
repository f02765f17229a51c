"""Options of the data routes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from coevolve_environments.plugins.appworld.dataset import HELD_OUT
from coevolve_environments.plugins.validation import boolean_option, integer_in_range, refuse_unknown
from coevolve_environments.protocol import BadRequest

MAX_STEPS = 50
DEFAULT_STEPS = 30
"""CoEvolve's limit for AppWorld (arXiv:2604.15840)."""


@dataclass(frozen=True)
class Options:
    held_out: str = "dev"
    """Published set of the held-out split: dev, test_normal or test_challenge."""
    max_turns: int = DEFAULT_STEPS
    """1 to 50."""
    dense: bool = False
    """Rewards train tasks by passed tests / tests."""


def read_options(options: Mapping[str, Any]) -> Options:
    refuse_unknown(options, Options.__dataclass_fields__)
    chosen = Options(**options)
    if chosen.held_out not in HELD_OUT:
        raise BadRequest(f"`options.held_out` must be one of {', '.join(HELD_OUT)}, got {chosen.held_out!r}")
    boolean_option(options, "dense", False)
    turn_limit(chosen.max_turns)
    return chosen


def turn_limit(value: object) -> int:
    return integer_in_range(value, "max_turns", MAX_STEPS)
