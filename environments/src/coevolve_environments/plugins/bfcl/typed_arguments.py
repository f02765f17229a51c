"""Types of arguments that a policy writes as bare text, as in `<parameter=zipcode>94016</parameter>`."""

import ast
from collections.abc import Mapping
from typing import Any

from coevolve_environments.json_text import load_json
from coevolve_environments.plugins.bfcl.literals import check_size, literal
from coevolve_environments.protocol import Json

Schemas = Mapping[str, Mapping[str, Json]]
"""JSON schema of each argument, by function and argument."""


def typed(text: str, schema: Json) -> Any:
    """Returns a text for a schema of texts; for another schema, or none, the value of JSON or Python in it.

    Templates write constants as JSON or as Python (`True`). A text that is neither stays, and the function
    rejects it.

    Raises:
        NotCalls: the value is too large or too deep.
    """
    if schema.get("type") == "string":
        return str(text)
    try:
        value = load_json(text)
    except ValueError:
        value = _of_python(text.strip())
    check_size(value)
    return str(text) if isinstance(value, str) else value


def _of_python(source: str) -> Any:
    """Returns a constant, number, list or dict of Python; any other text as it is."""
    try:
        node = ast.parse(source, mode="eval").body
        is_value = isinstance(node, ast.Constant | ast.UnaryOp | ast.List | ast.Dict)
        return literal(node) if is_value else source
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # NotCalls is a ValueError
        return source
