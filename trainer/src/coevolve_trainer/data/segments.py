"""Turns a trajectory into token rows with action masks, without tokenizing anything twice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple, NotRequired, TypedDict

from ..chat.encoder import Segment


class Step(TypedDict):
    """What the policy server returned for one action."""

    prompt_token_ids: list[int]
    token_ids: list[int]
    logprobs: NotRequired[list[float]]
    """Log-softmax of the raw logits at each of `token_ids`, nats; in all steps of a trajectory or in none."""


class Cut(NamedTuple):
    """What is left of a trajectory's rows, and what was lost."""

    segments: list[Segment]
    truncated: int = 0  # rows that were cut or dropped
    tokens: int = 0  # of them, lost
    actions: int = 0  # lost, or cut short


def merge_steps(steps: Iterable[Step]) -> list[Segment]:
    """One row while each prompt extends the row before it; a new row where it does not.

    A prompt does not extend the row when the text of an earlier action tokenizes to other ids than were
    sampled. Training must see the sampled ids, so the old row is kept as it is and nothing is re-tokenized:
    every sampled token lies under a mask of 1 in exactly one row, with its log-probability where it has one.
    """
    segments: list[Segment] = []
    for step in steps:
        prompt, action, logprobs = step["prompt_token_ids"], step["token_ids"], step.get("logprobs")
        if segments and prompt[: len(segments[-1].input_ids)] == segments[-1].input_ids:
            row = segments[-1]
        else:
            row = Segment([], [], None if logprobs is None else [])
            segments.append(row)
        added = prompt[len(row.input_ids) :]
        row.input_ids.extend([*added, *action])
        row.action_mask.extend([0] * len(added) + [1] * len(action))
        if row.old_logp is not None and logprobs is not None:
            row.old_logp.extend([0.0] * len(added) + logprobs)
    return segments


def cut_to_length(segments: Sequence[Segment], max_length: int) -> Cut:
    """Cuts rows at `max_length` tokens, drops rows in which no action is left, and counts what is lost."""
    kept: list[Segment] = []
    truncated = tokens = actions = 0
    for segment in segments:
        ids, mask = segment.input_ids, segment.action_mask
        truncated += len(ids) > max_length
        actions += sum(acts and not following for acts, following in pairwise([*mask[max_length:], 0]))
        old_logp = None if segment.old_logp is None else segment.old_logp[:max_length]
        cut = Segment(ids[:max_length], mask[:max_length], old_logp)
        acting = any(cut.action_mask[1:])
        if acting:
            kept.append(cut)
        tokens += len(ids) - (len(cut.input_ids) if acting else 0)
    return Cut(kept, truncated, tokens, actions)
