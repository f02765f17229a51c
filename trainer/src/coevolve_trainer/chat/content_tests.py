"""Texts for which a template looks in contents: flags such as `/no_think`, tags, and nothing at all."""

from __future__ import annotations

from collections.abc import Iterator

from jinja2 import nodes

from .format import Message
from .template_renderer import parse_template

_METHODS = (
    "startswith",
    "endswith",
    "split",
    "rsplit",
    "partition",
    "replace",
    "find",
    "count",
    "removeprefix",
)
_USER, _ACTION = Message(role="user", content="How many?"), Message(role="assistant", content="SELECT 1")


def looked_for(template: str) -> list[str]:
    """Returns the texts in the tests of a template, without names of roles and keys."""
    found = dict.fromkeys(_literals(parse_template(template)))
    return [text for text in found if text.strip() and not text.isidentifier()]


def conversations_with(text: str) -> Iterator[list[Message]]:
    """Yields conversations in which one message is, begins with, ends with or contains a text."""
    for content in (text, f"{text}\nrows", f"rows {text}", f"no {text} rows"):
        first, later, tool, system = (
            Message(role=role, content=content) for role in ("user", "user", "tool", "system")
        )
        yield [first, _ACTION, _USER]
        yield [_USER, _ACTION, later, _ACTION, _USER]
        yield [_USER, _ACTION, tool, _ACTION, _USER]
        yield [system, _USER, _ACTION, _USER]


def _literals(tree: nodes.Template) -> Iterator[str]:
    for compare in tree.find_all(nodes.Compare):
        yield from _texts([compare.expr, *(operand.expr for operand in compare.ops)])
    for call in tree.find_all(nodes.Call):
        if isinstance(call.node, nodes.Getattr) and call.node.attr in _METHODS:
            yield from _texts(call.args)
    for chosen in tree.find_all(nodes.Filter):
        if chosen.name == "replace":
            yield from _texts(chosen.args)


def _texts(expressions: list[nodes.Expr]) -> Iterator[str]:
    for expression in expressions:
        if isinstance(expression, nodes.List | nodes.Tuple):
            yield from _texts(expression.items)
        elif isinstance(expression, nodes.Const) and isinstance(expression.value, str):
            yield expression.value
