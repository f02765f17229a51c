"""Converts messages to the token ids that the policy's Jinja template would give, and back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, takewhile
from pathlib import Path
from typing import NamedTuple

from tokenizers import Tokenizer

from ..failures import bad_input
from .format import Message, Piece, Tool
from .named_formats import DEFAULT, NAMED_FORMATS, WITH_FUNCTIONS, named_format
from .template_format import NAME as TEMPLATE
from .template_format import RoleMap, TemplateFormat
from .text_tokenizer import TextTokenizer

CHAT_FORMAT, CHAT_TEMPLATE = "chat_format.json", "chat_template.jinja"

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
    that no environment can end a turn or imitate another role. Added tokens that control a conversation
    without being marked as special, such as Qwen3's `<think>`, are recognized only in an assistant's content.

    A header and the content after it are tokenized as one text, as with a template. If the tokenizer merges
    the newline of a header with newlines at the start of an action, the merged token belongs to the action.
    """

    def __init__(
        self, tokenizer: Tokenizer, chat_format: TemplateFormat | None = None, *, has_tools: bool = False
    ) -> None:
        """
        Args:
            chat_format: by default the format of method `init`.
            has_tools: the model's template was checked to render functions as `chat_format` does.

        Raises:
            JobFailure: `bad-input` when the tokenizer lacks the format's end token.
        """
        chat_format = chat_format or named_format(DEFAULT, tokenizer)
        tokenizer.encode_special_tokens = True
        self.tokenizer, self.chat_format, self.has_tools = tokenizer, chat_format, has_tools
        self.vocabulary_size = tokenizer.get_vocab_size()
        """Number of ids that the policy can sample."""
        added = tokenizer.get_added_tokens_decoder()
        control = {id: token for id, token in added.items() if chat_format.is_control(token)}
        self._added = {token.content: id for id, token in control.items()}
        self._control = {token.content: token for token in control.values()}
        in_actions = [re.escape(token.content) for token in control.values() if not token.special]
        self._in_actions = re.compile(f"({'|'.join(in_actions)})") if in_actions else None
        self._text = TextTokenizer(tokenizer, control)
        self.end_id = self._special_id(chat_format.end_token)
        self.pad_token = next(
            (token for token in chat_format.pad_tokens if token in self._added), chat_format.end_token
        )
        self.pad_id = self._special_id(self.pad_token)
        """Pads rows, with mask 0."""
        others = (self._added[token] for token in chat_format.other_stop_tokens if token in self._added)
        self.stop_ids = (self.end_id, *others)
        """All tokens at which a server stops; `end_id`, which belongs to the action, is the first."""
        self._margins = self._decoded_margins()

    @classmethod
    def load(cls, policy: Path) -> ChatEncoder:
        """Loads the encoder of the policy in `policy`; raises `bad-input` for an unknown chat format."""
        tokenizer = Tokenizer.from_file(str(policy / "tokenizer.json"))
        chat_format, has_tools = read_chat_format(policy, tokenizer)
        encoder = cls(tokenizer, chat_format, has_tools=has_tools)
        config = policy / "config.json"
        if config.exists():  # a model may have more ids than its tokenizer, to fill up its matrix
            size = json.loads(config.read_text()).get("vocab_size", 0)
            encoder.vocabulary_size = max(encoder.vocabulary_size, size)
        return encoder

    def prompt_ids(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> list[int]:
        """Returns the ids of the messages and of the generation prompt; functions in the format's own way.

        Raises:
            JobFailure: `bad-input` for functions if the policy has no such format.
        """
        self._require_tools(tools)
        return self._encode(self.chat_format.prompt_pieces(messages, tools)).input_ids

    def segment(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> Segment:
        """Returns ids and action mask of a whole conversation; raises as `prompt_ids` does."""
        self._require_tools(tools)
        return self._encode(self.chat_format.pieces(messages, tools))

    def decode(self, ids: Sequence[int]) -> str:
        """Returns the content of an action, without its special tokens and the format's own white space."""
        text = self.tokenizer.decode(list(ids), skip_special_tokens=True)
        return text.removeprefix(self._margins[0]).removesuffix(self._margins[1])

    def _decoded_margins(self) -> tuple[str, str]:
        """Returns the format's white space around a decoded action. SentencePiece drops the first space."""
        before, after = self.chat_format.shape.margins
        if not before:
            return before, after
        message, answer = Message(role="user", content="a"), Message(role="assistant", content="a")
        ids, mask, _ = self.segment([message, answer])
        action_ids = [id for id, acts in zip(ids, mask, strict=True) if acts]
        text = self.tokenizer.decode(action_ids, skip_special_tokens=True)
        return before if text.startswith(before) else "", after

    def _require_tools(self, tools: Sequence[Tool]) -> None:
        if tools and not self.has_tools:
            found = f"{len(tools)} functions for a policy whose chat template has no checked format for them"
            raise bad_input("tools", found, "none; show the functions as text (policy.functions: text)")

    def _encode(self, pieces: Iterable[Piece]) -> Segment:
        ids: list[int] = []
        mask: list[int] = []
        runs = [list(run) for _, run in groupby(self._divided(pieces), key=lambda piece: piece.is_special)]
        for index, run in enumerate(runs):
            if run[0].is_special:
                ids += [self._added[piece.text] for piece in run]
                mask += [int(piece.is_action) for piece in run]
                continue
            before = runs[index - 1][-1].text if index > 0 else None
            after = runs[index + 1][0].text if index + 1 < len(runs) else None
            text_ids, header = self._encode_text(run, before, after)
            ids += text_ids
            mask += [0] * header + [1] * (len(text_ids) - header)
        return Segment(ids, mask)

    def _divided(self, pieces: Iterable[Piece]) -> Iterator[Piece]:
        """Yields pieces of which those that are special are tokens, also tokens inside of an action."""
        for piece in pieces:
            if piece.is_action and not piece.is_special and self._in_actions:
                for index, text in enumerate(self._in_actions.split(piece.text)):
                    yield Piece(text, is_special=index % 2 == 1, is_action=True)
            else:
                yield piece._replace(is_special=piece.is_special and piece.text in self._added)

    def _encode_text(self, run: list[Piece], before: str | None, after: str | None) -> tuple[list[int], int]:
        """Encodes the texts between two tokens; returns ids, and how many precede the action at their end."""
        header = "".join(piece.text for piece in run if not piece.is_action)
        action = "".join(piece.text for piece in run if piece.is_action)
        # Phi-3's tokens contain the white space after them. An action keeps its own, which was sampled
        if before is not None and self._control[before].rstrip:
            header = header.lstrip()
        if after is not None and self._control[after].lstrip and not action:
            header = header.rstrip()
        ids = self._text.encode(header + action, before is None)
        if not action:
            return list(ids), len(ids)
        pairs = zip(self._text.encode(header, before is None), ids, strict=False)
        return list(ids), len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))

    def _special_id(self, name: str) -> int:
        if name not in self._added:
            expected = f"the token {name} of the chat format {self.chat_format.name}"
            raise bad_input("tokenizer", f"no token {name}", expected)
        return self._added[name]


def read_chat_format(policy: Path, tokenizer: Tokenizer) -> tuple[TemplateFormat, bool]:
    """Returns the chat format of a policy's folder, ChatML by default, and if it renders functions."""
    path = policy / CHAT_FORMAT
    if not path.is_file():
        return named_format(DEFAULT, tokenizer), False
    stored = json.loads(path.read_bytes())
    name = stored["name"]
    if name == TEMPLATE:
        template = (policy / CHAT_TEMPLATE).read_text(encoding="utf-8")
        added = tuple(tokenizer.get_added_tokens_decoder().values())
        roles = RoleMap(**stored["roles"])
        return TemplateFormat(template, stored["variables"], added, roles).with_shape(), stored[
            "tools"
        ] is True
    if name not in NAMED_FORMATS:
        raise bad_input(f"{path}: name", name, f"one of {', '.join([*NAMED_FORMATS, TEMPLATE])}")
    return named_format(name, tokenizer), stored.get("tools") is True and name in WITH_FUNCTIONS
