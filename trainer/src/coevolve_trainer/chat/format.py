"""What a chat format is: how a conversation becomes marks and texts, and which marks end an action."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypedDict


class Message(TypedDict):
    role: str
    content: str


class Piece(NamedTuple):
    """A stretch of a conversation. Only a mark becomes a special token; the rest stays text."""

    text: str
    mark: bool = False
    spoken: bool = False
    """The policy's own words, or the mark that ends them."""


@dataclass(frozen=True)
class ChatFormat:
    """One way to write conversations down; `template` is the same way in Jinja, with generation marks."""

    name: str
    conversation: Callable[[Sequence[Message]], Iterator[Piece]]
    opening: tuple[Piece, ...]
    """Asks the assistant to speak; comes after a conversation in a prompt."""
    end: str
    """The mark that ends an action, and belongs to it."""
    stops: tuple[str, ...]
    """Other marks at which a server stops, where the tokenizer has them."""
    pads: tuple[str, ...]
    """Marks that may fill rows up; the first that the tokenizer has."""
    template: str

    def text(self, messages: Sequence[Message], *, ask: bool) -> str:
        """The conversation as a template renders it; with `ask` the assistant is to speak next."""
        pieces = [*self.conversation(messages), *(self.opening if ask else ())]
        return "".join(piece.text for piece in pieces)


def mark(text: str) -> Piece:
    return Piece(text, mark=True)


def words(text: str) -> Piece:
    return Piece(text)


def spoken(content: str, end: str) -> tuple[Piece, Piece]:
    """An action and the mark that ends it."""
    return Piece(content, spoken=True), Piece(end, mark=True, spoken=True)
