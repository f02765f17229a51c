"""Contents as a template sees them: its tests read the text, and its output is a placeholder.

So a template can look for a flag, trim, cut or leave out a content as it does for its vendor, and no content
can become a special token of its output. An assistant's content is opaque: it stays as it was sampled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .format import Message

# Unicode's noncharacters, which no text contains; in functions they are replaced
OPEN, CLOSE, BREAK = "\ufdd0", "\ufdd1", "\ufdd2"
LEFT, RIGHT = "\n ", " \n"
"""White space around a placeholder, which disappears where the template trims a text that it is a part of."""

_TRIMS = ("strip", "lstrip", "rstrip", "removeprefix", "removesuffix", "replace", "expandtabs")
_CUTS = ("split", "rsplit", "splitlines", "partition", "rpartition")
_CASES = ("lower", "upper", "title", "capitalize", "casefold", "swapcase")
_TESTS = (
    "startswith",
    "endswith",
    "find",
    "rfind",
    "index",
    "rindex",
    "count",
    "isspace",
    "isdigit",
    "isalpha",
)
_OPERATORS = ("__contains__", "__eq__", "__ne__", "__len__", "__getitem__", "__hash__")  # fmt: skip


class Contents:
    """The contents of one rendering, and all that the template derives from them."""

    def __init__(self, turns: Sequence[Message]) -> None:
        self.texts: list[list[str]] = [[] for _ in turns]
        """By message its content and what the template derived from it. A later prompt has equal numbers."""
        self._turns = turns

    def messages(self) -> list[Message]:
        return [
            {"role": turn["role"], "content": self._seen(index, turn)}
            for index, turn in enumerate(self._turns)
        ]

    def may_be_missing(self, message: int) -> bool:
        """Returns whether the text of a message, or one that the template derived from it, is blank."""
        is_sampled = self._turns[message]["role"] == "assistant"
        return not is_sampled and not all(map(str.strip, self.texts[message]))

    def placeholder(self, message: int, text: str) -> str:
        self.texts[message].append(text)
        return f"{LEFT}{OPEN}{message}.{len(self.texts[message]) - 1}{CLOSE}{RIGHT}"

    def _seen(self, index: int, turn: Message) -> str:
        if turn["role"] == "assistant":
            return _Sampled(self.placeholder(index, turn["content"]))
        return _Content.of(self, index, turn["content"])


class _Content(str):
    _contents: Contents
    _message: int
    _text: str

    @classmethod
    def of(cls, contents: Contents, message: int, text: str) -> str:
        """Returns a content; a blank text is itself, because templates leave it out or count its lines."""
        placeholder = contents.placeholder(message, text)
        if not text.strip():
            return text
        content = cls(placeholder)
        content._contents, content._message, content._text = contents, message, text
        return content

    def __str__(self) -> str:  # Jinja's filters convert their argument
        return self

    def _derived(self, value: Any) -> Any:
        if isinstance(value, str):
            return _Content.of(self._contents, self._message, value)
        return type(value)(map(self._derived, value)) if isinstance(value, list | tuple) else value


class _Sampled(str):
    def __str__(self) -> str:
        return self


def _on_text(name: str) -> Callable[..., Any]:
    method = getattr(str, name)

    def call(self: _Content, *arguments: Any, **named: Any) -> Any:
        texts = [item._text if isinstance(item, _Content) else item for item in arguments]
        return self._derived(method(self._text, *texts, **named))

    return call


for _name in (*_TRIMS, *_CUTS, *_CASES, *_TESTS, *_OPERATORS):
    setattr(_Content, _name, _on_text(_name))
for _name in _TRIMS:
    setattr(_Sampled, _name, lambda self, *_, **__: self)
for _name in ("split", "rsplit"):
    setattr(_Sampled, _name, lambda self, *_, **__: [self])
