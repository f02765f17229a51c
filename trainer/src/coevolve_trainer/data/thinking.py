"""Thinking in an answer: which tokens are its action, and rows whose later turns were sampled without it.

An answer is separated when it is sampled, and rows contain the `action` beside an answer that has thinking.
Here only the tokens of that text are found.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

from ..chat.encoder import ChatEncoder, Message, Segment, Tool
from .segments import RecordedTurn

Decode = Callable[[Sequence[int]], str]


def old_action(answer: str) -> str:
    """Returns the action of an answer in a row without `action`, as release 0.1.0 wrote them.

    It is the text after the last end of thinking, in the tags of Qwen3, DeepSeek-R1 and others; an answer
    that was cut off in its thinking has none. This rule is frozen: only old rows have tags and no `action`.
    """
    before, end, after = answer.rpartition("</think>")
    action = after.strip() if end or before else answer
    return "" if action.lstrip().startswith("<think>") else action


def action_tokens(ids: Sequence[int], decode: Decode, action: str | None) -> range:
    """Returns which tokens of an answer are its action, with the white space and the end token around it.

    `action` is None for an answer that is nothing else, and in old rows. An action that the tokens do not
    contain, because a server wrote the calls in another format, is found as in an old row.
    """
    text = decode(ids)
    if action is None or action not in text:
        action = old_action(text)
    if action == text:
        return range(len(ids))
    if not action:
        return range(len(ids), len(ids))
    start = bisect_left(range(len(ids)), True, key=lambda count: action not in decode(ids[count:])) - 1
    while start > 0 and decode(ids[start - 1 :]).lstrip().startswith(action):
        start -= 1
    tail = range(start, len(ids))
    stop = tail[bisect_left(tail, True, key=lambda end: action in decode(ids[start : end + 1]))] + 1
    return range(start, stop if decode(ids[stop:]).strip() else len(ids))


def action_mask(turn: RecordedTurn, decode: Decode) -> list[int]:
    """Returns the mask of a turn's tokens that is 0 on its thinking."""
    ids = turn["token_ids"]
    tokens = action_tokens(ids, decode, turn.get("action"))
    return [int(index in tokens) for index in range(len(ids))]


def mask_thinking(segment: Segment, decode: Decode, actions: Sequence[str | None]) -> Segment:
    """Returns the row of a conversation with mask 0 on the thinking of every answer; its tokens stay.

    `actions` belong to its answers. Answers that follow each other without a header are one run of tokens,
    whose action is then found as in an old row.
    """
    runs = [list(run) for _, run in groupby(range(len(segment.input_ids)), segment.action_mask.__getitem__)]
    answers = [run for run in runs if segment.action_mask[run[0]]]
    mask = [0] * len(segment.input_ids)
    for index, run in enumerate(answers):
        action = actions[index] if len(actions) == len(answers) else None
        for token in action_tokens([segment.input_ids[i] for i in run], decode, action):
            mask[run[token]] = 1
    return Segment(segment.input_ids, mask)


def segments_without_earlier_thinking(
    encoder: ChatEncoder,
    messages: Sequence[dict[str, Any]],
    tools: Sequence[Tool] = (),
    *,
    masked: bool = False,
) -> list[Segment]:
    """Returns the rows of a conversation whose policy reads its earlier actions without their thinking.

    Each row is a prompt as it is served, with the answer after it; a prompt that extends a row continues it.
    With `masked` the thinking of the answers has mask 0.
    """
    rows: list[Segment] = []
    read: list[Message] = []
    for given in messages:
        message = Message(role=given["role"], content=given["content"])
        if message["role"] != "assistant":
            read.append(message)
            continue
        row = _last_answer_only(encoder.segment([*read, message], tools))
        if masked:
            row = mask_thinking(row, encoder.decode, [given.get("action")])
        if rows and row.input_ids[: len(rows[-1].input_ids)] == rows[-1].input_ids:
            earlier = rows.pop().action_mask
            row = Segment(row.input_ids, earlier + row.action_mask[len(earlier) :])
        rows.append(row)
        action = given.get("action")
        read.append(
            Message(role="assistant", content=old_action(message["content"]) if action is None else action)
        )
    return rows


def _last_answer_only(row: Segment) -> Segment:
    ids, mask = row.input_ids, row.action_mask
    stop = len(mask) - mask[::-1].index(1)
    start = len(mask[:stop]) - next((i for i, acts in enumerate(mask[:stop][::-1]) if not acts), stop)
    return Segment(ids, [int(start <= i < stop) for i in range(len(ids))])
