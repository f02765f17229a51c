"""Thinking in an action: which tokens it has, and rows whose later turns were sampled without it.

The tags are those of Qwen3, DeepSeek-R1 and others; `src/domain/rollout/thinking.ts` has the same rule.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import groupby

from ..chat.encoder import ChatEncoder, Message, Segment

START, END = "<think>", "</think>"


def without_thinking(answer: str) -> str:
    """Returns the text after the last end of thinking; nothing of an answer that was cut off in it."""
    before, end, after = answer.rpartition(END)
    action = after.strip() if end or before else answer
    return "" if action.lstrip().startswith(START) else action


def mask_thinking(segment: Segment, decode: Callable[[Sequence[int]], str]) -> Segment:
    """Returns the row with mask 0 on the thinking of every action; its tokens stay."""
    mask: list[int] = []
    for is_action, run in groupby(
        zip(segment.input_ids, segment.action_mask, strict=True), lambda pair: pair[1]
    ):
        ids = [id for id, _ in run]
        thinking = thinking_tokens(ids, decode) if is_action else len(ids)
        mask += [0] * thinking + [1] * (len(ids) - thinking)
    old_logp = segment.old_logp
    if old_logp is not None:
        old_logp = [value if acts else 0.0 for value, acts in zip(old_logp, mask, strict=True)]
    return Segment(segment.input_ids, mask, old_logp)


def thinking_tokens(ids: Sequence[int], decode: Callable[[Sequence[int]], str]) -> int:
    """Returns how many of an action's first tokens contain its thinking and the end of it."""
    text = decode(ids)
    ends = text.count(END)
    if text.rpartition(END)[2].lstrip().startswith(START):
        return len(ids)
    if ends == 0:
        return 0
    return bisect_left(range(len(ids)), ends, key=lambda count: decode(ids[:count]).count(END))


def segments_without_earlier_thinking(encoder: ChatEncoder, messages: Sequence[Message]) -> list[Segment]:
    """Returns the rows of a conversation whose policy reads its earlier actions without their thinking.

    Each row is a prompt as it is served, with the action after it; a prompt that extends a row continues it.
    """
    rows: list[Segment] = []
    read: list[Message] = []
    for message in messages:
        if message["role"] != "assistant":
            read.append(message)
            continue
        row = _last_action_only(encoder.segment([*read, message]))
        if rows and row.input_ids[: len(rows[-1].input_ids)] == rows[-1].input_ids:
            earlier = rows.pop().action_mask
            row = Segment(row.input_ids, earlier + row.action_mask[len(earlier) :])
        rows.append(row)
        read.append({**message, "content": without_thinking(message["content"])})
    return rows


def _last_action_only(row: Segment) -> Segment:
    ids, mask = row.input_ids, row.action_mask
    stop = len(mask) - mask[::-1].index(1)
    start = len(mask[:stop]) - next((i for i, acts in enumerate(mask[:stop][::-1]) if not acts), stop)
    return Segment(ids, [int(start <= i < stop) for i in range(len(ids))])
