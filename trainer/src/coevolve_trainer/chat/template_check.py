"""Checks a generic chat format against its template and the model's tokenizer.

Every prompt must be the template's own text and have the tokenizer's own ids of it; every prompt with its
action must be a prefix of the next prompt, in characters and in tokens. Assistants' contents in the
conversations have no white space at their ends and no thinking: those are kept as they were sampled.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import cycle

from tokenizers import Tokenizer

from ..failures import JobFailure, bad_input
from .content_tests import conversations_with, looked_for
from .encoder import ChatEncoder
from .format import Message, Tool
from .placeholders import REMEDY, TemplateChange, around, common_length
from .template_format import TemplateFormat
from .template_renderer import render_template

_LONG = "\n".join(f"row {row}: ('naïve café', {row * 37}, '東京 🦜')" for row in range(120))
_QUESTIONS = (
    "  How many singers are there?\n\nTable singer(id, name, age)\n",
    "\n\n[(7,)]\t",
    f"{_LONG}\n\n",
    'Error: it\'s {"a": [1.5, null]}; <b>50 %</b> & more -- {{ x }} \r\n',
    "ok",
)
_ACTIONS = (
    "SELECT COUNT(*) FROM singer",
    "ls(a=True)\n\nthen: naïve 東京 🦜",
    "1",
    "It's 12,345.67%.\n- done",
)


def conversation(*roles: str) -> list[Message]:
    """Returns messages of the given roles, with different contents."""
    questions, actions = cycle(_QUESTIONS), cycle(_ACTIONS)
    return [Message(role=role, content=next(actions if role == "assistant" else questions)) for role in roles]


LONG_CONVERSATION = conversation("system", *("user", "assistant") * 16, "user")
"""As long as an episode: some templates leave out or shorten earlier messages of long ones."""


class TemplateCheck:
    """Compares a format's prompts with the template's, and their ids with the tokenizer's."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._own = Tokenizer.from_str(tokenizer.to_str())  # an encoder changes its tokenizer

    def passes(
        self, chat_format: TemplateFormat, messages: Sequence[Message], tools: Sequence[Tool] = ()
    ) -> bool:
        try:
            self.run(chat_format, [messages], tools)
        except JobFailure:
            return False
        return True

    def run(
        self,
        chat_format: TemplateFormat,
        conversations: Sequence[Sequence[Message]],
        tools: Sequence[Tool] = (),
    ) -> None:
        """
        Raises:
            TemplateChange: a prompt does not extend the one before it.
            JobFailure: `bad-input` for another difference.
        """
        encoder = ChatEncoder(self._own, chat_format, has_tools=True)
        for messages in conversations:
            _compare_texts(chat_format, messages, tools)
            self._compare_ids(encoder, messages, tools)

    def run_texts(self, chat_format: TemplateFormat) -> None:
        """Compares prompts with contents for which the template looks, and with blank ones.

        Their ids differ from the tokenizer's where such a text is a special token, which no content can be.

        Raises:
            JobFailure: `bad-input` with the text.
        """
        for text in ("", *looked_for(chat_format.template)):
            for messages in conversations_with(text):
                try:
                    _compare_texts(chat_format, messages, ())
                except JobFailure as failure:
                    searched = f"looks for {text!r} in contents" if text else "treats blank contents apart"
                    raise JobFailure("bad-input", _with_cause(failure.message, searched)) from None

    def require_plain_contents(self, chat_format: TemplateFormat) -> None:
        """Raises `bad-input` when the tokenizer makes a special token of its text in a content."""
        encoder = ChatEncoder(self._own, chat_format)
        blank = encoder.prompt_ids([Message(role="user", content="a b")])
        for id, token in self._tokenizer.get_added_tokens_decoder().items():
            if chat_format.is_control(token):
                ids = encoder.prompt_ids([Message(role="user", content=f"a {token.content} b")])
                if ids.count(id) > blank.count(id):
                    found = f"one that reads {token.content} as a token in any text"
                    raise bad_input(
                        "tokenizer", found, "one whose special tokens can be text in observations"
                    )

    def _compare_ids(self, encoder: ChatEncoder, messages: Sequence[Message], tools: Sequence[Tool]) -> None:
        row: list[int] = []  # the prompt before, with its action
        for end in _prompt_ends(messages):
            ids = encoder.prompt_ids(messages[:end], tools)
            text = prompt_text(encoder.chat_format, messages[:end], tools)
            self._require_ids("a prompt", ids, self._tokenizer.encode(text, add_special_tokens=False).ids)
            self._require_ids("a prompt after an action", ids[: len(row)], row)
            if end < len(messages):
                row, mask, _ = encoder.segment(messages[: end + 1], tools)
                row = row[: len(mask) - mask[::-1].index(1)]
                self._require_ids("a prompt with its action", row[: len(ids)], ids)

    def _require_ids(self, of: str, found: list[int], expected: list[int]) -> None:
        if found == expected:
            return
        at = common_length(found, expected)
        texts = [
            self._tokenizer.decode(ids[at : at + 8], skip_special_tokens=False) for ids in (found, expected)
        ]
        raise bad_input(f"chat template: tokens of {of}", f"{texts[0]!r}", f"{texts[1]!r}; {REMEDY}")


def _with_cause(message: str, searched: str) -> str:
    found = f"chat template: found one that {searched}, and then "
    return f"{message.replace('chat template: found one that ', found)}; or remove that test from it"


def prompt_text(chat_format: TemplateFormat, messages: Sequence[Message], tools: Sequence[Tool]) -> str:
    return "".join(piece.text for piece in chat_format.prompt_pieces(messages, tools))


def _compare_texts(chat_format: TemplateFormat, messages: Sequence[Message], tools: Sequence[Tool]) -> None:
    """Compares every prompt with the template's text for the contents themselves."""
    opening, earlier = chat_format.shape.opening, ""
    as_template = chat_format.with_template_shape()
    for end in _prompt_ends(messages):
        turns = chat_format.turns(messages[:end])
        text = render_template(
            chat_format.template, turns, tools, add_generation_prompt=True, variables=chat_format.variables
        )
        if not text.startswith(earlier):
            index = _index_of_difference(turns, earlier, text)
            raise TemplateChange(index, turns[index]["role"], earlier, text)
        own = prompt_text(as_template, messages[:end], tools)
        if own != text:
            index, at = _index_of_difference(turns, own, text), common_length(own, text)
            found = f"one that renders message {index} ({turns[index]['role']}) as {around(text, at)!r}"
            raise bad_input("chat template", found, f"{around(own, at)!r}; {REMEDY}")
        earlier = text.removesuffix(opening)


def _prompt_ends(messages: Sequence[Message]) -> Iterator[int]:
    """Yields the lengths of the prompts of a conversation."""
    for index, message in enumerate(messages):
        if message["role"] == "assistant":
            yield index
    if messages[-1]["role"] != "assistant":
        yield len(messages)


def _index_of_difference(turns: Sequence[Message], first: str, second: str) -> int:
    """Returns the index of the message at which two texts begin to differ."""
    at, position, index = common_length(first, second), 0, 0
    for number, turn in enumerate(turns):
        found = first.find(turn["content"].strip(), position)
        if not 0 <= found <= at:
            break
        index, position = number, found + len(turn["content"].strip())
    return index
