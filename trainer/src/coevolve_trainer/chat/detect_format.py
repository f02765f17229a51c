"""Detects the chat format of a model's template by the prompts that it renders."""

from __future__ import annotations

from typing import Any

from tokenizers import Tokenizer

from ..failures import bad_input
from .encoder import Message
from .format import ChatFormat, Tool
from .formats import FORMATS

_SYSTEM: Message = {"role": "system", "content": "Write SQL."}
_USER: Message = {"role": "user", "content": "How many?"}
_ASSISTANT: Message = {"role": "assistant", "content": "SELECT 1"}
_TOOL: Message = {"role": "tool", "content": "[(7,)]"}
_PROBES = ([_USER], [_SYSTEM, _USER], [_SYSTEM, _USER, _ASSISTANT, _USER])
_TOOL_PROBE = [_USER, _ASSISTANT, _TOOL, _TOOL]
_FUNCTION = {"name": "count", "parameters": {"type": "object", "properties": {"of": {"type": "string"}}}}
_TOOLS: list[list[Tool]] = [
    [{"type": "function", "function": {**_FUNCTION, "name": f"count_{n}"}} for n in range(count)]
    for count in (1, 2)
]
_DATE = "26 Jul 2024"  # default date of Llama's templates


def detect_chat_format(template: str | None, tokenizer: Tokenizer, *, bos_token: str | None) -> ChatFormat:
    """Returns the format that renders the same prompts as `template`.

    Raises:
        JobFailure: `bad-input` when there is no template, or no known format renders its prompts.
    """
    names = ", ".join(FORMATS)
    if not template:
        raise bad_input("chat template", "none", f"one; or set --chat-format to one of {names}")
    added = {token.content for token in tokenizer.get_added_tokens_decoder().values()}
    prompts = [_render(template, probe, bos_token) for probe in _PROBES]
    tool_prompt = _render(
        template, _TOOL_PROBE, bos_token
    )  # None: the template rejects tools, so it is ignored
    for chat_format in FORMATS.values():
        expected = [chat_format.render_text(probe, add_generation_prompt=True) for probe in _PROBES]
        expected_tool_prompt = chat_format.render_text(_TOOL_PROBE, add_generation_prompt=True)
        is_equal = prompts == expected and tool_prompt in (None, expected_tool_prompt)
        if is_equal and {chat_format.end_token, chat_format.generation_prompt[0].text} <= added:
            return chat_format
    raise bad_input("chat template", f"one that renders {prompts[0]!r}", f"the prompts of one of {names}")


def renders_tools(template: str | None, chat_format: ChatFormat, *, bos_token: str | None) -> bool:
    """Returns whether the template renders functions as the format does.

    The format states them once, at the start, so that each of its prompts is a prefix of the later
    conversation. A template that renders them elsewhere, or again, differs in one of the prompts.
    """
    if not template or chat_format.render_tools is None:
        return False
    return all(
        _render(template, probe, bos_token, tools)
        == chat_format.render_text(probe, tools, add_generation_prompt=True)
        for probe in _PROBES
        for tools in _TOOLS
    )


def _render(
    template: str, messages: list[Message], bos_token: str | None, tools: list[Tool] | None = None
) -> str | None:
    """Returns the prompt that a template renders; None if it rejects the messages."""
    from jinja2.exceptions import TemplateError
    from transformers.utils.chat_template_utils import render_jinja_template

    conversation: Any = messages
    functions: Any = tools
    try:
        rendered: Any = render_jinja_template(
            [conversation],
            chat_template=template,
            tools=functions,
            add_generation_prompt=True,
            bos_token=bos_token or "",
            date_string=_DATE,
        )
    except TemplateError:
        return None
    return str(rendered[0][0])
