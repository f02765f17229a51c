"""Fits the generic chat format to a model's template: the roles that it takes, and if it takes functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from tokenizers import Tokenizer

from ..failures import JobFailure
from .format import Tool
from .placeholders import MissingHeader, TemplateChange
from .template_check import LONG_CONVERSATION, TemplateCheck, conversation, prompt_text
from .template_format import RoleMap, TemplateFormat
from .template_renderer import FIXED_DATE

_TURNS = ("user", "assistant", "user", "assistant", "user", "assistant", "user")
_PLAIN = [conversation("user"), conversation(*_TURNS)]
_SYSTEM = [conversation("system", "user"), conversation("system", *_TURNS)]
_CONSECUTIVE = conversation("user", "user", "assistant", "user", "user")
_TOOL = conversation("user", "assistant", "tool", "assistant", "tool", "tool", "assistant", "user")
_MIXED = conversation("system", "user", "assistant", "tool", "assistant", "tool")
_FUNCTION = {"description": 'Counts "rows"\nof one.', "parameters": {"type": "object", "properties": {}}}
_TOOLS: list[list[Tool]] = [
    [{"type": "function", "function": {"name": f"count_{n}", **_FUNCTION}} for n in range(count)]
    for count in (1, 2)
]


class FittedTemplate(NamedTuple):
    chat_format: TemplateFormat
    tools: bool
    """True if the template states functions once, at the start."""
    notes: list[str]
    """Remarks for the operator about the rendering of conversations."""


def fit_template(
    template: str, variables: Mapping[str, str], tokenizer: Tokenizer, *, fold_system: bool
) -> FittedTemplate:
    """Returns the generic format of a template.

    Args:
        variables: the model's special tokens by their names in templates, such as `bos_token`.
        fold_system: puts the system message into the first user message although the template takes one.

    Raises:
        JobFailure: `bad-input` when a prompt does not extend the one before it, with the message and the
            text, or when a special token cannot be distinguished from its text.
    """
    added = tuple(tokenizer.get_added_tokens_decoder().values())
    check = TemplateCheck(tokenizer)
    unshaped, notes = TemplateFormat(template, variables, added), list[str]()
    try:
        fitted = unshaped.with_shape()
    except MissingHeader as missing:
        fitted = replace(unshaped, template=_with_header(template, missing.header)).with_shape()
        notes = [f"prompts end with {missing.header!r}, so an action is an answer without thinking"]
    check.run(fitted, _PLAIN)
    if fold_system or not _takes_system(check, fitted):
        fitted = replace(fitted, roles=RoleMap(system="user", merges=True))
    elif not check.passes(fitted, _CONSECUTIVE):
        fitted = replace(fitted, roles=RoleMap(merges=True))
    if not (check.passes(fitted, _TOOL) and check.passes(fitted, _MIXED)):
        fitted = replace(fitted, roles=replace(fitted.roles, tool="user"))
    check.run(fitted, [*_PLAIN, *_SYSTEM, _CONSECUTIVE, _TOOL, _MIXED, LONG_CONVERSATION])
    check.run_texts(fitted)
    check.require_plain_contents(fitted)
    return FittedTemplate(fitted, _states_functions_once(check, fitted), [*notes, *_notes(fitted)])


def _with_header(template: str, header: str) -> str:
    """Returns a template whose prompts end with the header of an action, such as gpt-oss's channel `final`.

    The policy would have to sample it otherwise, and would lose it where an environment reads the action.
    """
    before = template.removesuffix("\n")  # which Jinja leaves out, as it is the last
    return before + "{% if add_generation_prompt %}{{ " + repr(header) + " }}{% endif %}"


def _takes_system(check: TemplateCheck, chat_format: TemplateFormat) -> bool:
    """Returns whether the template renders system messages; raises if it moves them in later prompts."""
    try:
        check.run(chat_format, _SYSTEM)
    except TemplateChange as change:
        remedy = "or set --fold-system, which puts the system message into the first user message"
        raise JobFailure("bad-input", f"{change.message}; {remedy}") from None
    except JobFailure:
        return False
    return True


def _states_functions_once(check: TemplateCheck, chat_format: TemplateFormat) -> bool:
    """Returns whether the first prompt names every function, and later prompts do not name it again."""
    messages = _SYSTEM[1]
    for tools in _TOOLS:
        if not check.passes(chat_format, messages, tools):
            return False
        first, last = (prompt_text(chat_format, messages[:end], tools) for end in (2, len(messages)))
        names = [tool["function"]["name"] for tool in tools]
        if not all(0 < first.count(name) == last.count(name) for name in names):
            return False
    return True


def _notes(chat_format: TemplateFormat) -> list[str]:
    roles = chat_format.roles
    notes = {
        "a system message begins the first user message": roles.system == "user",
        "tool results are user messages": roles.tool == "user",
        "consecutive user messages are joined by an empty line": roles.merges,
        f"the date in every prompt is {FIXED_DATE}": "strftime_now" in chat_format.template,
        "the opening of thinking stays in earlier turns": bool(chat_format.shape.opening),
        "earlier actions without thinking get no empty one": bool(chat_format.shape.unsampled),
    }
    return [note for note, applies in notes.items() if applies]
