"""Chooses the chat format of an imported model: a verified family's, or its own template's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tokenizers import Tokenizer

from ..failures import bad_input
from .detect_format import detect_chat_format, renders_tools
from .fit_template import fit_template
from .format import ChatFormat, Format
from .formats import FORMATS
from .template_format import NAME as TEMPLATE

NAMES = (*FORMATS, TEMPLATE)


class ChosenFormat(NamedTuple):
    chat_format: Format
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
    found = FORMATS[name] if name else detect_chat_format(text or "", tokenizer, variables)
    if found is None:
        return None
    _require_tokens(found, tokenizer)
    way = "named" if name else "detected"
    note = f"chat format {found.name}: a verified family, {way}"
    return ChosenFormat(found, renders_tools(text, found, variables), [note])


def template_format(template: ChatTemplate, *, fold_system: bool) -> ChosenFormat:
    """Returns the generic format of the template; raises `bad-input` if it cannot be used."""
    text, tokenizer, variables = template
    if not text:
        expected = f"one in chat_template.jinja; or set --chat-format to one of {', '.join(FORMATS)}"
        raise bad_input("chat template", "none", expected)
    fitted = fit_template(text, variables, tokenizer, fold_system=fold_system)
    functions = "its own format for functions" if fitted.tools else "functions as text"
    note = f"chat format {TEMPLATE}: the model's own template, checked on conversations, with {functions}"
    return ChosenFormat(fitted.chat_format, fitted.tools, [note, *fitted.notes])


def _require_tokens(chat_format: ChatFormat, tokenizer: Tokenizer) -> None:
    added = {token.content for token in tokenizer.get_added_tokens_decoder().values()}
    needed = [piece.text for piece in chat_format.generation_prompt if piece.is_special]
    for token in (*needed, chat_format.end_token):
        if token not in added:
            found = f"{chat_format.name}, whose token {token} the tokenizer lacks"
            expected = (
                f"a format of the model's own tokens, or none: without it `{TEMPLATE}` uses its template"
            )
            raise bad_input("--chat-format", found, expected)
