"""Checks inputs by inputs.json: JSON Schemas that are generated from the declarations in src/statistics.

A wrong value is refused with its path, the value found and the value expected.
"""

import json
import math
from pathlib import Path
from typing import Any, NoReturn

Json = dict[str, Any]

SCHEMAS: dict[str, Json] = json.loads(Path(__file__).with_name("inputs.json").read_bytes())
#: Version of the procedures.
ANALYSIS_VERSION: int = SCHEMAS["analysis"]["properties"]["version"]["const"]

TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "null": (type(None),),
}
WORDS = {
    "object": "an object",
    "array": "a list",
    "string": "a text",
    "boolean": "true or false",
    "integer": "an integer",
    "number": "a number",
    "null": "null",
}


class InputProblem(Exception):
    """The input cannot be analysed."""


def refuse(path: str, found: object, expected: str) -> NoReturn:
    shown = repr(found)
    shown = shown if len(shown) <= 80 else f"{shown[:77]}..."
    raise InputProblem(f"{path}: found {shown}, expected {expected}")


def checked(value: object, command: str) -> Json:
    """Returns the input of a command; names that its schema does not have are ignored."""
    _check(value, SCHEMAS[command], "")
    assert isinstance(value, dict)
    return value


def _check(value: object, schema: Json, path: str) -> None:
    options = _options(schema)
    chosen = next((each for each in options if _fits(value, each, len(options) > 1)), None)
    if chosen is None:
        refuse(path or "input", value, " or ".join(map(_words, options)))
    if isinstance(value, dict):
        for name in chosen.get("required", ()):
            if name not in value:
                raise InputProblem(f"{_join(path, name)}: found nothing, expected a value")
        properties, names = chosen.get("properties", {}), chosen.get("propertyNames", {"type": "string"})
        for name, item in value.items():
            if name in properties:
                _check(item, properties[name], _join(path, name))
            elif "additionalProperties" in chosen:
                _check(name, names, _join(path, name))
                _check(item, chosen["additionalProperties"], _join(path, name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _check(item, chosen["items"], f"{path}[{index}]")


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _options(schema: Json) -> list[Json]:
    if isinstance(schema.get("type"), list):
        return [{**schema, "type": each} for each in schema["type"]]
    found: list[Json] = schema.get("anyOf") or schema.get("oneOf") or [schema]
    return found


def _fits(value: object, schema: Json, is_one_of_several: bool) -> bool:
    """Compares the value without its parts, and of several kinds of objects their constants."""
    kind = schema["type"]
    if not isinstance(value, TYPES[kind]) or (isinstance(value, bool) and kind != "boolean"):
        return False
    if isinstance(value, dict):
        constants = _constants(schema) if is_one_of_several else {}
        return all(value.get(name, constant) == constant for name, constant in constants.items())
    if "const" in schema:
        return bool(value == schema["const"])
    if isinstance(value, int | float) and not isinstance(value, bool):
        above, below = schema.get("exclusiveMinimum", -math.inf), schema.get("exclusiveMaximum", math.inf)
        least, most = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
        return bool(above < value < below and least <= value <= most)
    return "enum" not in schema or value in schema["enum"]


def _constants(schema: Json) -> Json:
    return {name: item["const"] for name, item in schema.get("properties", {}).items() if "const" in item}


def _words(schema: Json) -> str:
    name = WORDS[schema["type"]]
    if "const" in schema:
        return str(schema["const"])
    if "enum" in schema:
        return f"one of {', '.join(schema['enum'])}"
    if constants := _constants(schema):
        return f"{name} with {', '.join(f'{key} {value}' for key, value in constants.items())}"
    if "exclusiveMinimum" in schema:
        return f"{name} above {schema['exclusiveMinimum']} and below {schema['exclusiveMaximum']}"
    least = f" from {schema['minimum']}" if "minimum" in schema else ""
    most = f" to {schema['maximum']}" if "maximum" in schema and schema["type"] == "number" else ""
    return name + least + most
