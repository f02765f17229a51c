"""Which chat format a model's own template writes: found by what it renders, not by how it is spelt."""

from __future__ import annotations

from typing import Any

from tokenizers import Tokenizer

from ..failures import bad_input
from .encoder import Message
from .format import ChatFormat
from .formats import FORMATS

_SYSTEM: Message = {"role": "system", "content": "Write SQL."}
_USER: Message = {"role": "user", "content": "How many?"}
_ASSISTANT: Message = {"role": "assistant", "content": "SELECT 1"}
_TOOL: Message = {"role": "tool", "content": "[(7,)]"}
_PROBES = ([_USER], [_SYSTEM, _USER], [_SYSTEM, _USER, _ASSISTANT, _USER])
_TOOL_PROBE = [_USER, _ASSISTANT, _TOOL, _TOOL]
_DATE = "26 Jul 2024"  # the day that Llama's templates name where nobody tells them another


def recognise(template: str | None, tokenizer: Tokenizer, *, begin: str | None) -> ChatFormat:
    """The format whose prompts are those of `template`; `begin` is the tokenizer's `bos_token`.

    Raises:
        JobFailure: `bad-input` when there is no template, or it writes prompts as no known format does.
    """
    known = ", ".join(FORMATS)
    if not template:
        raise bad_input("chat template", "none", f"one; or say --chat-format, one of {known}")
    added = {token.content for token in tokenizer.get_added_tokens_decoder().values()}
    talks = [_render(template, probe, begin) for probe in _PROBES]
    tools = _render(template, _TOOL_PROBE, begin)  # None where a template refuses tools: the talks decide
    for chat_format in FORMATS.values():
        alike = talks == [chat_format.text(probe, ask=True) for probe in _PROBES]
        alike = alike and tools in (None, chat_format.text(_TOOL_PROBE, ask=True))
        if alike and {chat_format.end, chat_format.opening[0].text} <= added:
            return chat_format
    raise bad_input("chat template", f"one that writes {talks[0]!r}", f"the prompts of one of {known}")


def _render(template: str, messages: list[Message], begin: str | None) -> str | None:
    """The prompt that a template makes of messages; None where it refuses them."""
    from jinja2.exceptions import TemplateError
    from transformers.utils.chat_template_utils import render_jinja_template

    conversation: Any = messages
    try:
        rendered: Any = render_jinja_template(
            [conversation],
            chat_template=template,
            add_generation_prompt=True,
            bos_token=begin or "",
            date_string=_DATE,
        )
    except TemplateError:
        return None
    return str(rendered[0][0])
