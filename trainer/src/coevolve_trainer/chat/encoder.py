"""Messages to token ids and back; trainer, policy server and the policy's Jinja template give equal ids."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby, takewhile
from pathlib import Path
from typing import NamedTuple

from tokenizers import Tokenizer

from ..failures import bad_input
from .format import ChatFormat, Message, Piece
from .formats import FORMATS
from .formats.chatml import CHATML

CHAT_FORMAT = "chat_format.json"

__all__ = ["CHAT_FORMAT", "ChatEncoder", "Message", "Segment"]


class Segment(NamedTuple):
    """One row of tokens; `action_mask` is 1 where the policy itself spoke. All of length T."""

    input_ids: list[int]
    action_mask: list[int]
    old_logp: list[float] | None = None
    """Nats at which each token was sampled, 0 where the mask is 0; none where nobody recorded them."""


class ChatEncoder:
    """Encodes messages with a policy's tokenizer in the policy's chat format.

    Content is always text: the letters `<|im_end|>` inside an observation become ordinary tokens, so that no
    environment can end a turn or speak for another role. Tokens that a tokenizer adds without calling them
    special, such as Qwen3's `<think>`, are read from an assistant's content alone.

    A header and the content after it are tokenized as one text, as templates are. Where a tokenizer merges
    the newline of a header with those that an action begins with, the merged token is action.
    """

    def __init__(self, tokenizer: Tokenizer, chat_format: ChatFormat = CHATML) -> None:
        tokenizer.encode_special_tokens = True
        self.tokenizer, self.chat_format = tokenizer, chat_format
        self._added = {token.content: id for id, token in tokenizer.get_added_tokens_decoder().items()}
        self._plain = _without_added_tokens(tokenizer)
        self.end_id = self._special(chat_format.end)
        self.pad_token = next((token for token in chat_format.pads if token in self._added), chat_format.end)
        self.pad_id = self._special(self.pad_token)
        """Fills rows up, under mask 0."""
        stops = (self._added[token] for token in chat_format.stops if token in self._added)
        self.stop_ids = (self.end_id, *stops)
        """Every token at which a server stops; `end_id`, which belongs to the action, comes first."""
        # One trajectory repeats its system prompt in every request, one task its question
        self._content = lru_cache(maxsize=1024)(self._text)

    @classmethod
    def load(cls, policy: Path) -> ChatEncoder:
        """The encoder of the policy in `policy`; raises `bad-input` when its chat format is unknown."""
        return cls(Tokenizer.from_file(str(policy / "tokenizer.json")), read_chat_format(policy))

    def prompt_ids(self, messages: Sequence[Message]) -> list[int]:
        """Ids of the messages and of the header that asks the assistant to speak."""
        return self._encode([*self.chat_format.conversation(messages), *self.chat_format.opening]).input_ids

    def segment(self, messages: Sequence[Message]) -> Segment:
        """Ids and action mask of a whole conversation."""
        return self._encode(self.chat_format.conversation(messages))

    def decode(self, ids: Sequence[int]) -> str:
        """The text of an action, without its special tokens."""
        return self.tokenizer.decode(list(ids), skip_special_tokens=True)

    def _encode(self, pieces: Iterable[Piece]) -> Segment:
        ids: list[int] = []
        mask: list[int] = []
        for is_mark, run in groupby(pieces, key=lambda piece: piece.mark and piece.text in self._added):
            for tokens, action in self._marks(run) if is_mark else [self._run(list(run))]:
                ids += tokens
                mask += action
        return Segment(ids, mask)

    def _marks(self, run: Iterator[Piece]) -> Iterator[tuple[Sequence[int], list[int]]]:
        for piece in run:
            yield (self._added[piece.text],), [int(piece.spoken)]

    def _run(self, run: list[Piece]) -> tuple[Sequence[int], list[int]]:
        """Texts between two marks; only the last of them may be spoken."""
        spoken = run[-1].spoken
        ids = self._content("".join(piece.text for piece in run), spoken)
        if not spoken:
            return ids, [0] * len(ids)
        header = self._content("".join(piece.text for piece in run[:-1]), spoken)
        kept = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(header, ids, strict=False))))
        return ids, [0] * kept + [1] * (len(ids) - kept)

    def _text(self, text: str, spoken: bool) -> tuple[int, ...]:
        tokenizer = self.tokenizer if spoken else self._plain
        return tuple(tokenizer.encode(text, add_special_tokens=False).ids)

    def _special(self, name: str) -> int:
        if name not in self._added:
            raise ValueError(f"tokenizer has no token {name}")
        return self._added[name]


def read_chat_format(policy: Path) -> ChatFormat:
    """The chat format that a policy's folder names; ours where it names none."""
    path = policy / CHAT_FORMAT
    if not path.is_file():
        return CHATML
    name = json.loads(path.read_bytes())["name"]
    if name not in FORMATS:
        raise bad_input(f"{path}: name", name, f"one of {', '.join(FORMATS)}")
    return FORMATS[name]


def _without_added_tokens(tokenizer: Tokenizer) -> Tokenizer:
    """A tokenizer to which every text is text. Special tokens need no copy: they are switched off by name."""
    if all(token.special for token in tokenizer.get_added_tokens_decoder().values()):
        return tokenizer
    described = json.loads(tokenizer.to_str())
    return Tokenizer.from_str(json.dumps({**described, "added_tokens": [], "post_processor": None}))
