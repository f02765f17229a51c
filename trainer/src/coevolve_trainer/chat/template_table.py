"""Verdicts on the chat templates of a folder, without models: a tokenizer is made of a template's tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from ..failures import JobFailure
from .fit_template import fit_template
from .format import Message
from .placeholders import REMEDY
from .template_renderer import render_template

_VARIABLES = {"bos_token": "<bos>", "eos_token": "<eos>"}
_TOKEN = re.compile(r"<[^\s<>{}'\"]{1,60}>|\[/?[A-Za-z_]{3,}\]|\[e~\[|\]~b\]")
_CONVERSATION = [
    Message(role=role, content=text) for role, text in (("user", "q"), ("assistant", "a"), ("user", "r"))
]
_MAX_CHARACTERS = 200


def table_of(folder: Path) -> Iterator[str]:
    """Yields the lines of a Markdown table: template, verdict, and the reason or an import's remarks."""
    yield "| template | verdict | reason, or what an import remarks |"
    yield "| --- | --- | --- |"
    for path in sorted(folder.glob("*.jinja")):
        verdict, reason = _verdict(path.read_text(encoding="utf-8"))
        yield f"| {path.stem} | {verdict} | {_cell(reason)} |"


def _verdict(template: str) -> tuple[str, str]:
    try:
        return "accepted", _remarks(template, fold_system=False)
    except JobFailure as failure:
        reason = failure.message.removeprefix("chat template: found one that ").replace(f"; {REMEDY}", "")
    if "--fold-system" in reason:
        try:
            return "accepted with --fold-system", _remarks(template, fold_system=True)
        except JobFailure:
            pass
    return "refused", reason


def _remarks(template: str, *, fold_system: bool) -> str:
    fitted = fit_template(template, _VARIABLES, _tokenizer(template), fold_system=fold_system)
    functions = "functions in its format" if fitted.tools else "functions as text"
    return "; ".join([functions, *fitted.notes])


def _tokenizer(template: str) -> Tokenizer:
    """Returns a tokenizer of single bytes and of the tokens that the template writes."""
    try:
        text = render_template(template, _CONVERSATION, add_generation_prompt=True, variables=_VARIABLES)
    except JobFailure:
        text = ""
    vocabulary = {byte: id for id, byte in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    tokenizer = Tokenizer(models.BPE(vocabulary, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    found = dict.fromkeys([*_VARIABLES.values(), *_TOKEN.findall(text)])
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in found])
    return tokenizer


def _cell(text: str) -> str:
    """Returns a text as a cell of a table, in which tags and bars are text."""
    short = text if len(text) <= _MAX_CHARACTERS else f"{text[:_MAX_CHARACTERS]}..."
    return re.sub(r"([|<>_*\[\]`\\])", r"\\\1", " ".join(short.split()))
