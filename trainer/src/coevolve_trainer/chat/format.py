"""The interface of a chat format: how a conversation is rendered as special tokens and texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypedDict

from tokenizers import AddedToken


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


class Format(Protocol):
    """What an encoder needs of a chat format: a verified one in Python, or a model's own template."""

    @property
    def name(self) -> str: ...

    @property
    def end_token(self) -> str:
        """The special token that ends an action and belongs to it."""

    @property
    def other_stop_tokens(self) -> tuple[str, ...]:
        """Further special tokens at which a server stops, if the tokenizer has them."""

    @property
    def pad_tokens(self) -> tuple[str, ...]:
        """Candidates for padding; the first that the tokenizer has is used."""

    @property
    def action_margins(self) -> tuple[str, str]:
        """White space that the format writes before and after an action's content; part of the action."""

    @property
    def template(self) -> str:
        """The format in Jinja."""

    def is_control(self, token: AddedToken) -> bool:
        """Returns whether an added token of the tokenizer is plain text in all contents but the policy's."""

    def prompt_pieces(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> Iterable[Piece]:
        """Returns the messages, then the header of the assistant's turn."""

    def pieces(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> Iterable[Piece]:
        """Returns a whole conversation."""


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
    action_margins: tuple[str, str] = ("", "")

    def is_control(self, token: AddedToken) -> bool:
        return True

    def pieces(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> Iterator[Piece]:
        if not tools:
            return self.render(messages)
        assert self.render_tools is not None
        return self.render_tools(messages, tools)

    def prompt_pieces(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> Iterator[Piece]:
        yield from self.pieces(messages, tools)
        yield from self.generation_prompt

    def render_text(
        self, messages: Sequence[Message], tools: Sequence[Tool] = (), *, add_generation_prompt: bool
    ) -> str:
        """Returns the conversation as the template renders it."""
        render = self.prompt_pieces if add_generation_prompt else self.pieces
        return "".join(piece.text for piece in render(messages, tools))


def special(text: str) -> Piece:
    return Piece(text, is_special=True)


def plain(text: str) -> Piece:
    return Piece(text)


def action(content: str, end_token: str) -> tuple[Piece, Piece]:
    """Returns an action and the special token that ends it."""
    return Piece(content, is_action=True), Piece(end_token, is_special=True, is_action=True)
