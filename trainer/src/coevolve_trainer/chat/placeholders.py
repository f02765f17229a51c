"""Placeholders that a template renders in place of contents, and the place where two renderings differ."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any

from ..failures import JobFailure
from .format import Message

REMEDY = "correct chat_template.jinja in the model's folder, or name a verified format with --chat-format"

# Unicode's noncharacters, which no text contains; in functions they are replaced
_OPEN, _CLOSE, _BREAK = "\ufdd0", "\ufdd1", "\ufdd2"
_LEFT, _RIGHT = "\n ", " \n"
CONTENT = re.compile(rf"({_LEFT}|\\n )?{_OPEN}([0-9]+){_CLOSE}({_RIGHT}| \\n)?")
"""A placeholder: white space before it unless trimmed, the index of its message, white space after it.

In a JSON string, such as Llama 3.1's tool results, the newlines of the white space are escaped.
"""


class TemplateChange(JobFailure):
    """A template that changes, in a later prompt, a text that it rendered in an earlier one."""

    def __init__(self, index: int, role: str, earlier: str, later: str) -> None:
        at = common_length(earlier, later)
        before, after = (readable(around(text, at)) for text in (earlier, later))
        super().__init__(
            "bad-input",
            f"chat template: found one that changes an earlier prompt at message {index} ({role}): "
            f"{before!r} becomes {after!r}, expected one whose prompts extend each other; {REMEDY}",
        )


def with_placeholders(turns: Sequence[Message]) -> list[Message]:
    return [
        {"role": turn["role"], "content": f"{_LEFT}{_OPEN}{index}{_CLOSE}{_RIGHT}"}
        for index, turn in enumerate(turns)
    ]


def placeholders(text: str) -> Iterator[tuple[re.Match[str], int]]:
    """Yields the placeholders of a rendered text, with the index of each one's message."""
    for match in CONTENT.finditer(text):
        yield match, int(match[2])


def written_as(match: re.Match[str], content: str) -> str:
    """Returns the content as the template writes it: trimmed where its placeholder is, or as JSON."""
    if match[1] == r"\n ":
        return json.dumps(content, ensure_ascii=False)[1:-1]
    content = content if match[1] else content.lstrip()
    return content if match[3] else content.rstrip()


def mark_tokens(value: Any, tokens: re.Pattern[str]) -> Any:
    """Returns a function whose texts have a mark inside every special token's text; see `without_marks`."""
    if isinstance(value, str):
        cleaned = re.sub(f"[{_OPEN}{_CLOSE}{_BREAK}]", "\ufffd", value)
        return tokens.sub(lambda match: match[0][0] + _BREAK + match[0][1:], cleaned)
    if isinstance(value, dict):
        return {mark_tokens(key, tokens): mark_tokens(item, tokens) for key, item in value.items()}
    return [mark_tokens(item, tokens) for item in value] if isinstance(value, list) else value


def common_length(first: Sequence[object], second: Sequence[object]) -> int:
    """Returns how many first elements of two texts, or lists of ids, are equal."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))


def around(text: str, at: int) -> str:
    """Returns the part of a text that shows a place in an error message."""
    return text[max(0, at - 30) : at + 50]


def without_marks(text: str) -> str:
    return text.replace(_BREAK, "")


def readable(text: str) -> str:
    """Returns a rendered text with `...` for each placeholder."""
    return CONTENT.sub("...", text)
