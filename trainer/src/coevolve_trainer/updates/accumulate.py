"""The gradient of one update, part by part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from ..process_group import Ranks, added
from .objective import Objective, P, Scorer

_LOSS, _TOKENS, _COMPUTED = "loss", "tokens", "computed"


class Totals(NamedTuple):
    """What all parts of an update gave, on all processes together."""

    loss: float  # nats
    tokens: int  # of all trajectories, as if nothing were shared and nothing padded
    computed: int  # tokens that a pass went over
    metrics: dict[str, tuple[float, float]]  # sum and count

    def means(self) -> dict[str, float]:
        return {name: total / count for name, (total, count) in self.metrics.items() if count}


def accumulate(objective: Objective[Any, P], parts: Sequence[P], scorer: Scorer, ranks: Ranks) -> Totals:
    """Leaves the gradient of the parts' loss in this process's parameters, and returns what all parts gave.

    Each process runs its own share of the parts; `ranks.reduce_gradients` adds their gradients up.
    """

    def own() -> dict[str, tuple[float, float]]:
        losses, tokens, computed, seen = [], 0, 0, []
        for part, counts in ranks.share_of(parts):
            share = objective.share(scorer, part)
            loss = share.loss * (ranks.gradient_scale if counts else 0.0)
            loss.backward()  # type: ignore[no-untyped-call]
            if counts:
                losses.append(share.loss.detach())
                tokens += part.rows.tokens
                computed += part.rows.input_ids.numel()
                seen.append(share.sums)
        # One transfer from the device for all parts
        loss_sum = torch.stack(losses).double().sum().item() if losses else 0.0
        return {_LOSS: (loss_sum, 1.0), _TOKENS: (tokens, 1.0), _COMPUTED: (computed, 1.0), **added(seen)}

    totals = added(ranks.together(own))
    loss, tokens, computed = (totals.pop(name)[0] for name in (_LOSS, _TOKENS, _COMPUTED))
    return Totals(loss, round(tokens), round(computed), totals)
