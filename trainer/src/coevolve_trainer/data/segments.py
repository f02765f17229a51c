"""Converts the turns of a trajectory to token rows with action masks; no text is tokenized twice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NotRequired, TypedDict

from ..chat.encoder import Segment
from ..failures import JobFailure


class RecordedTurn(TypedDict):
    """The policy server's response for one action; an element of a trajectory's `turns`."""

    prompt_token_ids: list[int]
    token_ids: list[int]
    logprobs: NotRequired[list[float]]
    """Log-softmax of the raw logits at each of `token_ids`, nats; in all turns of a trajectory or in none."""
    action: NotRequired[str]
    """The action in the text of `token_ids`, where that text has thinking too."""


@dataclass
class TruncationCounts:
    """Data excluded from the training because of `max_length` or `pair_truncation`."""

    actions: int = 0  # of all rows, before truncation
    rows_cut: int = 0  # truncated or dropped
    tokens_dropped: int = 0
    actions_dropped: int = 0  # dropped or truncated
    pairs_cut: int = 0  # pairs whose rejected side `pair_truncation` truncated
    examples_dropped: int = 0  # without an action after truncation and masks, or dropped by ETO's rule
    longest_row: int = 0  # tokens, before truncation

    def truncate(self, segments: Sequence[Segment], max_length: int) -> list[Segment]:
        """Truncates rows at `max_length` tokens, drops rows without an action in that length, and counts."""
        kept: list[Segment] = []
        for segment in segments:
            ids, mask = segment.input_ids, segment.action_mask
            self.rows_cut += len(ids) > max_length
            self.longest_row = max(self.longest_row, len(ids))
            self.actions += _ends(mask)
            self.actions_dropped += _ends(mask[max_length:])
            old_logp = None if segment.old_logp is None else segment.old_logp[:max_length]
            truncated = Segment(ids[:max_length], mask[:max_length], old_logp)
            has_action = any(truncated.action_mask[1:])
            if has_action:
                kept.append(truncated)
            self.tokens_dropped += len(ids) - (len(truncated.input_ids) if has_action else 0)
        return kept

    def require_actions(self, name: str, max_length: int, max_lost: float | None) -> None:
        """Checks that `max_length` keeps enough of the actions of the dataset or batch `name`.

        Args:
            max_lost: maximum share of the actions that may be dropped; None: any.

        Raises:
            JobFailure: `lost-actions`, with the counts and the length that would keep all actions.
        """
        lost, actions = self.actions_dropped, self.actions
        if actions == 0 or lost <= (1 if max_lost is None else max_lost) * actions:
            return
        raise JobFailure(
            "lost-actions",
            f"{name}: found {lost} of {actions} actions ({lost / actions:.0%}) beyond max_length "
            f"{max_length}, with {self.rows_cut} rows cut and {self.examples_dropped} examples dropped, "
            f"expected at most {max_lost:.0%} (max_lost_actions); the longest row: {self.longest_row} tokens",
        )


def _ends(mask: Sequence[int]) -> int:
    """Returns how many actions end in a part of a row."""
    return sum(acts and not next_acts for acts, next_acts in pairwise([*mask, 0]))


def _whole(turn: RecordedTurn) -> list[int]:
    return [1] * len(turn["token_ids"])


def merge_turns(
    turns: Iterable[RecordedTurn], mask_of: Callable[[RecordedTurn], list[int]] = _whole
) -> list[Segment]:
    """Appends each turn to the row while its prompt extends the row; starts a new row otherwise.

    A prompt does not extend the row when the text of an earlier action is tokenized to other ids than the
    sampled ones. Training needs the sampled ids, so nothing is tokenized again: every sampled token has mask
    1 in exactly one row, with its log-probability if it was recorded. `mask_of` may give some of them mask 0.
    """
    segments: list[Segment] = []
    for turn in turns:
        prompt, action, logprobs = turn["prompt_token_ids"], turn["token_ids"], turn.get("logprobs")
        if segments and prompt[: len(segments[-1].input_ids)] == segments[-1].input_ids:
            row = segments[-1]
        else:
            row = Segment([], [], None if logprobs is None else [])
            segments.append(row)
        added = prompt[len(row.input_ids) :]
        row.input_ids.extend([*added, *action])
        mask = mask_of(turn)
        row.action_mask.extend([0] * len(added) + mask)
        if row.old_logp is not None and logprobs is not None:
            kept = [value if acts else 0.0 for value, acts in zip(logprobs, mask, strict=True)]
            row.old_logp.extend([0.0] * len(added) + kept)
    return segments
