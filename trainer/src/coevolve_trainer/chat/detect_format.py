"""Detects the chat format of a model's template by the prompts that it renders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tokenizers import Tokenizer

from ..failures import JobFailure
from .format import ChatFormat, Message, Tool
from .formats import FORMATS
from .template_check import LONG_CONVERSATION
from .template_renderer import render_template

_SYSTEM: Message = {"role": "system", "content": "Write SQL."}
_USER: Message = {"role": "user", "content": "How many?"}
_ASSISTANT: Message = {"role": "assistant", "content": "SELECT 1"}
_TOOL: Message = {"role": "tool", "content": "[(7,)]"}
_PROBES = ([_USER], [_SYSTEM, _USER], [_SYSTEM, _USER, _ASSISTANT, _USER], LONG_CONVERSATION)
_TOOL_PROBE = [_USER, _ASSISTANT, _TOOL, _TOOL]
_FUNCTION = {"name": "count", "parameters": {"type": "object", "properties": {"of": {"type": "string"}}}}
_TOOLS: list[list[Tool]] = [
    [{"type": "function", "function": {**_FUNCTION, "name": f"count_{n}"}} for n in range(count)]
    for count in (1, 2)
]


def detect_chat_format(
    template: str, tokenizer: Tokenizer, variables: Mapping[str, str]
) -> ChatFormat | None:
    """Returns the verified format that renders the same prompts as `template`, None if no one does."""
    added = {token.content for token in tokenizer.get_added_tokens_decoder().values()}
    prompts = [_render(template, probe, variables) for probe in _PROBES]
    tool_prompt = _render(template, _TOOL_PROBE, variables)  # None: the template rejects tools
    for chat_format in FORMATS.values():
        expected = [chat_format.render_text(probe, add_generation_prompt=True) for probe in _PROBES]
        expected_tool_prompt = chat_format.render_text(_TOOL_PROBE, add_generation_prompt=True)
        is_equal = prompts == expected and tool_prompt in (None, expected_tool_prompt)
        if is_equal and {chat_format.end_token, chat_format.generation_prompt[0].text} <= added:
            return chat_format
    return None


def renders_tools(template: str | None, chat_format: ChatFormat, variables: Mapping[str, str]) -> bool:
    """Returns whether the template renders functions as the format does.

    The format states them once, at the start, so that each of its prompts is a prefix of the later
    conversation. A template that renders them elsewhere, or again, differs in one of the prompts.
    """
    if not template or chat_format.render_tools is None:
        return False
    return all(
        _render(template, probe, variables, tools)
        == chat_format.render_text(probe, tools, add_generation_prompt=True)
        for probe in _PROBES
        for tools in _TOOLS
    )


def _render(
    template: str, messages: list[Message], variables: Mapping[str, str], tools: Sequence[Tool] = ()
) -> str | None:
    """Returns the prompt that a template renders; None if it rejects the messages."""
    try:
        return render_template(template, messages, tools, add_generation_prompt=True, variables=variables)
    except JobFailure:
        return None
