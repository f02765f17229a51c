"""The interface of a chat format: how a conversation is rendered as special tokens and texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypedDict


class Message(TypedDict):
    role: str
    content: str


Tool = dict[str, Any]
"""A function in OpenAI's form: `{"type": "function", "function": {...}}`."""


class Piece(NamedTuple):
    """A consecutive part of a conversation; only a special piece can become a special token."""

    text: str
    is_special: bool = False
    is_action: bool = False
    """True for the policy's output and for the token that ends it."""


@dataclass(frozen=True)
class ChatFormat:
    """A chat format in Python; `template` is the same format in Jinja, with generation blocks."""

    name: str
    render: Callable[[Sequence[Message]], Iterator[Piece]]
    generation_prompt: tuple[Piece, ...]
    """Header of the assistant's turn, which ends a prompt."""
    end_token: str
    """The special token that ends an action and belongs to it."""
    other_stop_tokens: tuple[str, ...]
    """Further special tokens at which a server stops, if the tokenizer has them."""
    pad_tokens: tuple[str, ...]
    """Candidates for padding; the first that the tokenizer has is used."""
    template: str
    render_tools: Callable[[Sequence[Message], Sequence[Tool]], Iterator[Piece]] | None = None
    """Renders a conversation with functions in the format's own way, which is stated once, at its start."""

    def pieces(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> Iterator[Piece]:
        if not tools:
            return self.render(messages)
        assert self.render_tools is not None
        return self.render_tools(messages, tools)

    def render_text(
        self, messages: Sequence[Message], tools: Sequence[Tool] = (), *, add_generation_prompt: bool
    ) -> str:
        """Returns the conversation as the template renders it."""
        pieces = [*self.pieces(messages, tools), *(self.generation_prompt if add_generation_prompt else ())]
        return "".join(piece.text for piece in pieces)


def special(text: str) -> Piece:
    return Piece(text, is_special=True)


def plain(text: str) -> Piece:
    return Piece(text)


def action(content: str, end_token: str) -> tuple[Piece, Piece]:
    """Returns an action and the special token that ends it."""
    return Piece(content, is_action=True), Piece(end_token, is_special=True, is_action=True)
