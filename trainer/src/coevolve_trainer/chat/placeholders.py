"""Placeholders in rendered texts, and the place where two renderings differ."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

from ..failures import JobFailure, bad_input
from .contents import BREAK, CLOSE, LEFT, OPEN, RIGHT, Contents

REMEDY = "correct chat_template.jinja in the model's folder, or name a verified format with --chat-format"

CONTENT = re.compile(rf"({LEFT}|\\n )?{OPEN}([0-9]+)[.]([0-9]+){CLOSE}({RIGHT}| \\n)?")
"""A placeholder: its message and the number of its text, between white space unless that is trimmed.

In a JSON string, such as Llama 3.1's tool results, the white space is escaped.
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


class MissingHeader(JobFailure):
    """A template that writes a header before an action, and not at the end of a prompt."""

    def __init__(self, header: str) -> None:
        self.header = header
        super().__init__(
            "bad-input",
            f"chat template: found one that writes {header!r} before an action, but not at the end of a "
            f"prompt, expected prompts that end with it; {REMEDY}",
        )


class Rendering(NamedTuple):
    """A rendered text with placeholders."""

    text: str
    contents: Contents

    def placeholders(self) -> Iterator[tuple[re.Match[str], int, str]]:
        """Yields each placeholder with its message and its text."""
        for match in CONTENT.finditer(self.text):
            message, number = int(match[2]), int(match[3])
            yield match, message, self.contents.texts[message][number]

    def require_each(self, roles: Sequence[str]) -> None:
        """Raises `bad-input` unless each message that is not blank has one placeholder, in order."""
        found = [message for _, message, _ in self.placeholders()]
        missing = set(range(len(roles))) - set(found)
        if all(map(self.contents.may_be_missing, missing)) and found == sorted(set(found)):
            return
        seen = ", ".join(map(str, found)) or "-"
        rendered = f"one that renders messages {seen} of {len(roles)} ({', '.join(roles)})"
        images = "" if found else ", each a text, which templates for images may not read"
        raise bad_input("chat template", rendered, f"one that renders each once, in order{images}; {REMEDY}")


def written_as(match: re.Match[str], content: str) -> str:
    """Returns the content as the template writes it: trimmed where its placeholder is, or as JSON."""
    if match[1] == r"\n ":
        return json.dumps(content, ensure_ascii=False)[1:-1]
    content = content if match[1] else content.lstrip()
    return content if match[4] else content.rstrip()


def mark_tokens(value: Any, tokens: re.Pattern[str]) -> Any:
    """Returns a function whose texts have a mark inside every special token's text; see `without_marks`."""
    if isinstance(value, str):
        cleaned = re.sub(f"[{OPEN}{CLOSE}{BREAK}]", "\ufffd", value)
        return tokens.sub(lambda match: match[0][0] + BREAK + match[0][1:], cleaned)
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
    return text.replace(BREAK, "")


def readable(text: str) -> str:
    """Returns a rendered text with `...` for each placeholder."""
    return CONTENT.sub("...", text)
