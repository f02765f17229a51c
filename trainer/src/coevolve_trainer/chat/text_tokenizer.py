"""Tokenizes the texts between the special tokens of a conversation as the tokenizer of the whole would."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from tokenizers import AddedToken, Tokenizer


class TextTokenizer:
    """Encodes plain text, in which the control tokens are text too."""

    def __init__(self, tokenizer: Tokenizer, control: Mapping[int, AddedToken]) -> None:
        if not all(token.special for token in control.values()):
            tokenizer = _with_special(tokenizer, control)
        self._first = self._later = tokenizer
        before: Any = tokenizer.pre_tokenizer
        if before is not None and b'"first"' in before.__getstate__():
            # SentencePiece's space is added at the start of the whole text only
            self._later = _copy(_replaced(json.loads(tokenizer.to_str()), "prepend_scheme", "first", "never"))
        # All requests of a trajectory have one system prompt, all attempts at a task one prompt
        self.encode = lru_cache(maxsize=1024)(self._encode)

    def _encode(self, text: str, is_first: bool) -> tuple[int, ...]:
        """Returns the ids of a text; `is_first`: no special token is before it."""
        tokenizer = self._first if is_first else self._later
        return tuple(tokenizer.encode(text, add_special_tokens=False).ids)


def _with_special(tokenizer: Tokenizer, control: Mapping[int, AddedToken]) -> Tokenizer:
    """Returns a tokenizer that marks all control tokens as special, so that they are text in a text."""
    serialized = json.loads(tokenizer.to_str())
    for token in serialized["added_tokens"]:
        token["special"] = token["special"] or token["id"] in control
    return _copy(serialized)


def _copy(serialized: Any) -> Tokenizer:
    tokenizer = Tokenizer.from_str(json.dumps(serialized))
    tokenizer.encode_special_tokens = True
    return tokenizer


def _replaced(value: Any, name: str, old: str, new: str) -> Any:
    """Returns a JSON value in which every `name` with the value `old` has the value `new`."""
    if isinstance(value, dict):
        return {
            key: new if key == name and item == old else _replaced(item, name, old, new)
            for key, item in value.items()
        }
    return [_replaced(item, name, old, new) for item in value] if isinstance(value, list) else value
