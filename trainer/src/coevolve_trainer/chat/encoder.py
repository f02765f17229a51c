"""Messages to token ids and back; the ids are those of the policy's Jinja template."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby, takewhile
from pathlib import Path
from typing import NamedTuple

from tokenizers import Tokenizer

from ..failures import bad_input
from .format import ChatFormat, Message, Piece, Tool
from .formats import FORMATS
from .formats.chatml import CHATML

CHAT_FORMAT = "chat_format.json"

__all__ = ["CHAT_FORMAT", "ChatEncoder", "Message", "Segment", "Tool"]


class Segment(NamedTuple):
    """One row of tokens; `action_mask` is 1 for the policy's output. All lists have length T."""

    input_ids: list[int]
    action_mask: list[int]
    old_logp: list[float] | None = None
    """Recorded log-probability of each sampled token in nats, 0 where the mask is 0; None if not recorded."""


class ChatEncoder:
    """Encodes messages with a policy's tokenizer in the policy's chat format.

    Content is always plain text: the characters `<|im_end|>` inside an observation become ordinary tokens, so
    that no environment can end a turn or imitate another role. Added tokens that the tokenizer does not mark
    as special, such as Qwen3's `<think>`, are recognized only in an assistant's content.

    A header and the content after it are tokenized as one text, as with a template. If the tokenizer merges
    the newline of a header with newlines at the start of an action, the merged token belongs to the action.
    """

    def __init__(
        self, tokenizer: Tokenizer, chat_format: ChatFormat = CHATML, *, has_tools: bool = False
    ) -> None:
        """
        Args:
            has_tools: the model's template was checked to render functions as `chat_format` does.
        """
        tokenizer.encode_special_tokens = True
        self.tokenizer, self.chat_format, self.has_tools = tokenizer, chat_format, has_tools
        self._added = {token.content: id for id, token in tokenizer.get_added_tokens_decoder().items()}
        self._without_added = _without_added_tokens(tokenizer)
        self.end_id = self._special_id(chat_format.end_token)
        self.pad_token = next(
            (token for token in chat_format.pad_tokens if token in self._added), chat_format.end_token
        )
        self.pad_id = self._special_id(self.pad_token)
        """Pads rows, with mask 0."""
        others = (self._added[token] for token in chat_format.other_stop_tokens if token in self._added)
        self.stop_ids = (self.end_id, *others)
        """All tokens at which a server stops; `end_id`, which belongs to the action, is the first."""
        # Every request of a trajectory contains the same system prompt, all attempts at a task the same
        # prompt
        self._token_ids = lru_cache(maxsize=1024)(self._tokenize)

    @classmethod
    def load(cls, policy: Path) -> ChatEncoder:
        """Loads the encoder of the policy in `policy`; raises `bad-input` for an unknown chat format."""
        chat_format, has_tools = read_chat_format(policy)
        return cls(Tokenizer.from_file(str(policy / "tokenizer.json")), chat_format, has_tools=has_tools)

    def prompt_ids(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> list[int]:
        """Returns the ids of the messages and of the generation prompt; functions in the format's own way.

        Raises:
            JobFailure: `bad-input` for functions if the policy has no such format.
        """
        pieces = [*self._pieces(messages, tools), *self.chat_format.generation_prompt]
        return self._encode(pieces).input_ids

    def segment(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> Segment:
        """Returns ids and action mask of a whole conversation; raises as `prompt_ids` does."""
        return self._encode(self._pieces(messages, tools))

    def decode(self, ids: Sequence[int]) -> str:
        """Returns the text of an action, without its special tokens."""
        return self.tokenizer.decode(list(ids), skip_special_tokens=True)

    def _pieces(self, messages: Sequence[Message], tools: Sequence[Tool]) -> Iterator[Piece]:
        if tools and not self.has_tools:
            found = f"{len(tools)} functions for a policy whose chat template has no checked format for them"
            raise bad_input("tools", found, "none; show the functions as text (policy.functions: text)")
        return self.chat_format.pieces(messages, tools)

    def _encode(self, pieces: Iterable[Piece]) -> Segment:
        ids: list[int] = []
        mask: list[int] = []
        for is_special, run in groupby(
            pieces, key=lambda piece: piece.is_special and piece.text in self._added
        ):
            for token_ids, is_action in (
                self._encode_special(run) if is_special else [self._encode_text(list(run))]
            ):
                ids += token_ids
                mask += is_action
        return Segment(ids, mask)

    def _encode_special(self, run: Iterator[Piece]) -> Iterator[tuple[Sequence[int], list[int]]]:
        for piece in run:
            yield (self._added[piece.text],), [int(piece.is_action)]

    def _encode_text(self, run: list[Piece]) -> tuple[Sequence[int], list[int]]:
        """Encodes the texts between two special tokens; only the last of them can be an action."""
        is_action = run[-1].is_action
        ids = self._token_ids("".join(piece.text for piece in run), is_action)
        if not is_action:
            return ids, [0] * len(ids)
        header = self._token_ids("".join(piece.text for piece in run[:-1]), is_action)
        kept = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(header, ids, strict=False))))
        return ids, [0] * kept + [1] * (len(ids) - kept)

    def _tokenize(self, text: str, is_action: bool) -> tuple[int, ...]:
        tokenizer = self.tokenizer if is_action else self._without_added
        return tuple(tokenizer.encode(text, add_special_tokens=False).ids)

    def _special_id(self, name: str) -> int:
        if name not in self._added:
            raise ValueError(f"tokenizer has no token {name}")
        return self._added[name]


def read_chat_format(policy: Path) -> tuple[ChatFormat, bool]:
    """Returns the chat format named in a policy's folder, ChatML by default, and if it renders functions."""
    path = policy / CHAT_FORMAT
    if not path.is_file():
        return CHATML, False
    stored = json.loads(path.read_bytes())
    name = stored["name"]
    if name not in FORMATS:
        raise bad_input(f"{path}: name", name, f"one of {', '.join(FORMATS)}")
    return FORMATS[name], stored.get("tools") is True and FORMATS[name].render_tools is not None


def _without_added_tokens(tokenizer: Tokenizer) -> Tokenizer:
    """Returns a tokenizer without added tokens that are not special; those that are special are disabled."""
    if all(token.special for token in tokenizer.get_added_tokens_decoder().values()):
        return tokenizer
    serialized = json.loads(tokenizer.to_str())
    return Tokenizer.from_str(json.dumps({**serialized, "added_tokens": [], "post_processor": None}))
