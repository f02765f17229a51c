"""Reads JSON bodies of the HTTP routes. Errors name the field, the value found and the value expected."""

from aiohttp import web

from coevolve_environments.json_text import parse_json
from coevolve_environments.plugins.validation import one_of
from coevolve_environments.protocol import SPLITS, BadRequest, Json, Split


async def read_body(request: web.Request, known: set[str] | None) -> Json:
    """Returns the JSON object in the body.

    Args:
        known: names of the allowed fields; None allows all.

    Raises:
        BadRequest: the body is not a JSON object, or has an unknown field.
    """
    try:
        body = parse_json(await request.read() or b"{}")
    except ValueError as error:
        raise BadRequest(f"the body is not JSON: {error}") from None
    if not isinstance(body, dict):
        raise BadRequest("the body must be a JSON object")
    if known is not None and (unknown := sorted(set(body) - known)):
        raise BadRequest(f"unknown field {unknown[0]!r}; known: {', '.join(sorted(known))}")
    return body


def split_field(body: Json) -> Split:
    return one_of(body.get("split"), "split", SPLITS)


def integer_field(body: Json, name: str, default: int | None = None) -> int:
    value = body.get(name)
    if value is None and default is not None:
        return default
    if not isinstance(value, int) or isinstance(value, bool):
        raise BadRequest(f"`{name}` must be an integer, got {value!r}")
    return value


def count_field(body: Json, maximum: int) -> int:
    count = integer_field(body, "count")
    if not 1 <= count <= maximum:
        raise BadRequest(f"`count` must be in 1..{maximum}, got {count}")
    return count


def object_field(body: Json, name: str) -> Json:
    value = body.get(name, {})
    if not isinstance(value, dict):
        raise BadRequest(f"`{name}` must be an object, got {value!r}")
    return value


def text_field(body: Json, name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str):
        raise BadRequest(f"`{name}` must be a string, got {value!r}")
    return value


def texts_field(body: Json, name: str) -> list[str]:
    value = body.get(name)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise BadRequest(f"`{name}` must be a list of strings")
    return value
