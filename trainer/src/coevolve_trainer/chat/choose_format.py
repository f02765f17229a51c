"""Chooses the chat format of an imported model: a verified family's, or its own template's.

A family is detected by the prompts that the model's template renders.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tokenizers import Tokenizer

from ..failures import JobFailure, bad_input
from .fit_template import fit_template
from .format import Message, Tool
from .named_formats import NAMED_FORMATS, WITH_FUNCTIONS, missing_token, named_format
from .template_check import LONG_CONVERSATION, prompt_text
from .template_format import NAME as TEMPLATE
from .template_format import TemplateFormat
from .template_renderer import render_template

NAMES = (*NAMED_FORMATS, TEMPLATE)
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


class ChosenFormat(NamedTuple):
    chat_format: TemplateFormat
    tools: bool
    """True if it renders functions as the model's template does: once, at the start."""
    notes: list[str]
    """Remarks for the operator."""


class ChatTemplate(NamedTuple):
    """A model's template, and the tokenizer and the special tokens to which it belongs."""

    text: str | None
    tokenizer: Tokenizer
    variables: Mapping[str, str]


def require_format_name(name: str | None) -> None:
    """Raises `bad-input` for a name of no format."""
    if name is not None and name not in NAMES:
        raise bad_input("--chat-format", name, f"one of {', '.join(NAMES)}")


def verified_format(template: ChatTemplate, name: str | None) -> ChosenFormat | None:
    """Returns the named verified format, or the one that renders the template's prompts; None without one.

    Raises:
        JobFailure: `bad-input` when the tokenizer lacks the end token of the named format.
    """
    if name == TEMPLATE or (name is None and not template.text):
        return None
    text, tokenizer, variables = template
    if name and (missing := missing_token(name, tokenizer)):
        expected = f"a format of the model's own tokens, or none: without it `{TEMPLATE}` uses its template"
        raise bad_input("--chat-format", f"{name}, whose token {missing} the tokenizer lacks", expected)
    found = named_format(name, tokenizer) if name else detect_chat_format(text or "", tokenizer, variables)
    if found is None:
        return None
    way = "named" if name else "detected"
    note = f"chat format {found.name}: a verified family, {way}"
    return ChosenFormat(found, renders_tools(text, found, variables), [note])


def template_format(template: ChatTemplate, *, fold_system: bool) -> ChosenFormat:
    """Returns the generic format of the template; raises `bad-input` if it cannot be used."""
    text, tokenizer, variables = template
    if not text:
        expected = f"one in chat_template.jinja; or set --chat-format to one of {', '.join(NAMED_FORMATS)}"
        raise bad_input("chat template", "none", expected)
    fitted = fit_template(text, variables, tokenizer, fold_system=fold_system)
    functions = "its own format for functions" if fitted.tools else "functions as text"
    note = f"chat format {TEMPLATE}: the model's own template, checked on conversations, with {functions}"
    return ChosenFormat(fitted.chat_format, fitted.tools, [note, *fitted.notes])


def detect_chat_format(
    template: str, tokenizer: Tokenizer, variables: Mapping[str, str]
) -> TemplateFormat | None:
    """Returns the named format that renders the same prompts as `template`; None if there is none."""
    prompts = [_render(template, probe, variables) for probe in _PROBES]
    tool_prompt = _render(template, _TOOL_PROBE, variables)  # None if the template rejects tools
    for name in NAMED_FORMATS:
        if missing_token(name, tokenizer) is None:
            found = named_format(name, tokenizer)
            expected = [prompt_text(found, probe, ()) for probe in _PROBES]
            expected_tool_prompt = prompt_text(found, _TOOL_PROBE, ())
            if prompts == expected and tool_prompt in (None, expected_tool_prompt):
                return found
    return None


def renders_tools(template: str | None, chat_format: TemplateFormat, variables: Mapping[str, str]) -> bool:
    """Returns whether the template renders functions as the format does.

    The format states them once, at the start, so that each of its prompts is a prefix of the later
    conversation. A template that renders them elsewhere, or again, differs in one of the prompts.
    """
    if not template or chat_format.name not in WITH_FUNCTIONS:
        return False
    return all(
        _render(template, probe, variables, tools) == prompt_text(chat_format, probe, tools)
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
