"""The chat encoding, the only one: trainer, policy server and the Jinja template give the same ids.

A message is `<|im_start|>role\\ncontent<|im_end|>\\n`. Of an assistant's message the header is prompt, the
content and `<|im_end|>` are action, and the newline after it belongs to the next prompt.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, TypedDict

from tokenizers import Tokenizer

PAD_TOKEN, START_TOKEN, END_TOKEN = "<|endoftext|>", "<|im_start|>", "<|im_end|>"

CHAT_TEMPLATE = """\
{%- for message in messages -%}
{{- '<|im_start|>' + message['role'] + '\\n' -}}
{%- if message['role'] == 'assistant' -%}
{%- generation -%}{{- message['content'] + '<|im_end|>' -}}{%- endgeneration -%}
{%- else -%}
{{- message['content'] + '<|im_end|>' -}}
{%- endif -%}
{{- '\\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}
"""


class Message(TypedDict):
    role: str
    content: str


class Segment(NamedTuple):
    """One row of tokens; `action_mask` is 1 where the policy itself spoke. All of length T."""

    input_ids: list[int]
    action_mask: list[int]
    old_logp: list[float] | None = None
    """Nats at which each token was sampled, 0 where the mask is 0; none where nobody recorded them."""


class ChatEncoder:
    """Encodes messages with a policy's tokenizer.

    Content is always text: the letters `<|im_end|>` inside an observation become ordinary tokens, so that no
    environment can end a turn or speak for another role.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        tokenizer.encode_special_tokens = True
        self.tokenizer = tokenizer
        self.pad_id = self._special(PAD_TOKEN)
        self.start_id = self._special(START_TOKEN)
        self.end_id = self._special(END_TOKEN)
        self._newline = self._text("\n")
        # One trajectory repeats its system prompt in every request, one task its question
        self._content = lru_cache(maxsize=1024)(self._text)

    @classmethod
    def load(cls, policy: Path) -> ChatEncoder:
        return cls(Tokenizer.from_file(str(policy / "tokenizer.json")))

    def prompt_ids(self, messages: Sequence[Message]) -> list[int]:
        """Ids of the messages and of the header that asks the assistant to speak."""
        return [*self.segment(messages).input_ids, *self._header("assistant")]

    def segment(self, messages: Sequence[Message]) -> Segment:
        """Ids and action mask of a whole conversation."""
        ids: list[int] = []
        mask: list[int] = []
        for message in messages:
            header = self._header(message["role"])
            body = [*self._content(message["content"]), self.end_id]
            ids += [*header, *body, *self._newline]
            spoken = int(message["role"] == "assistant")
            mask += [0] * len(header) + [spoken] * len(body) + [0] * len(self._newline)
        return Segment(ids, mask)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of an action, without its special tokens."""
        return self.tokenizer.decode(list(ids), skip_special_tokens=True)

    def _header(self, role: str) -> list[int]:
        return [self.start_id, *self._content(role), *self._newline]

    def _text(self, text: str) -> tuple[int, ...]:
        return tuple(self.tokenizer.encode(text, add_special_tokens=False).ids)

    def _special(self, token: str) -> int:
        found = self.tokenizer.token_to_id(token)
        if found is None:
            raise ValueError(f"tokenizer has no token {token}")
        return int(found)
