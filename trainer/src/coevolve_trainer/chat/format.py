"""The parts of a conversation: messages, functions, and the special tokens and texts of its rendering."""

from __future__ import annotations

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


def special(text: str) -> Piece:
    return Piece(text, is_special=True)


def plain(text: str) -> Piece:
    return Piece(text)


def action(content: str, end_token: str) -> tuple[Piece, Piece]:
    """Returns an action and the special token that ends it."""
    return Piece(content, is_action=True), Piece(end_token, is_special=True, is_action=True)
