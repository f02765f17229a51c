"""Questions, answers, function documents and published prompts of the installed bfcl-eval package."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from coevolve_environments.protocol import Json

CATEGORIES = ("base", "miss_func", "miss_param", "long_context")

CLASS_FILES = {
    "GorillaFileSystem": "gorilla_file_system",
    "MathAPI": "math_api",
    "MessageAPI": "message_api",
    "TwitterAPI": "posting_api",
    "TicketAPI": "ticket_api",
    "TradingBot": "trading_bot",
    "TravelAPI": "travel_booking",
    "VehicleControlAPI": "vehicle_control",
}
_JSON_TYPES = {"dict": "object", "float": "number", "tuple": "array", "list": "array"}
# The package's default format
_RETURN, _DOCUMENTS, _PROMPT, _STYLE = "python", "json", "plaintext", "classic"
_HINT = " Note that the provided function is in Python 3 syntax."
"""Added by the package's loader to each function of the first prompt, and to none that it adds later."""
Message = dict[str, str]


@dataclass(frozen=True, eq=False)
class Entry:
    id: str
    category: str
    number: int
    """Index in its category, 0..199."""
    turns: list[list[dict[str, str]]]
    answers: list[list[str]]
    config: Json
    classes: list[str]
    held_back: dict[int, list[str]]
    """Functions that become available only in the given turn (miss_func)."""


def read_entries(category: str) -> Iterator[Entry]:
    name = f"BFCL_v4_multi_turn_{category}.json"
    answers = {row["id"]: row["ground_truth"] for row in _read_lines(f"possible_answer/{name}")}
    for number, row in enumerate(_read_lines(name)):
        yield Entry(
            id=row["id"],
            category=category,
            number=number,
            turns=row["question"],
            answers=answers[row["id"]],
            config=row["initial_config"],
            classes=row["involved_classes"],
            held_back={int(turn): names for turn, names in row.get("missed_function", {}).items()},
        )


def documents_of(entry: Entry, turn: int) -> list[Json]:
    """Returns the package's documents of the functions available in a turn, in the package's order."""
    hidden = {name for start, names in entry.held_back.items() if start > turn for name in names}
    documents = [document for name in entry.classes for document in _documents(name)]
    return [document for document in documents if document["name"] not in hidden]


def tools_of(entry: Entry, turn: int) -> list[Json]:
    """Returns the JSON schemas of the functions available in a turn, in the package's order."""
    return [
        {
            "name": document["name"],
            "description": document["description"],
            "parameters": _json_schema(document["parameters"]),
        }
        for document in documents_of(entry, turn)
    ]


def argument_schemas(entry: Entry) -> dict[str, dict[str, Json]]:
    """Returns the JSON schema of each argument of each function of the classes, by function and argument.

    Functions that are held back are among them, because the classes have them in every turn.
    """
    return {name: schemas for owner in entry.classes for name, schemas in _argument_schemas(owner).items()}


@cache
def _argument_schemas(class_name: str) -> dict[str, dict[str, Json]]:
    return {
        document["name"]: _json_schema(document["parameters"])["properties"]
        for document in _documents(class_name)
    }


@cache
def _documents(class_name: str) -> tuple[Json, ...]:
    return tuple(_read_lines(f"multi_turn_func_doc/{CLASS_FILES[class_name]}.json"))


def _json_schema(value: Any) -> Any:
    """Replaces the package's Python type names by the names in JSON Schema."""
    if isinstance(value, list):
        return [_json_schema(item) for item in value]
    if not isinstance(value, dict):
        return value
    converted = {key: _json_schema(item) for key, item in value.items()}
    if (kind := converted.get("type")) == "any":  # JSON Schema writes it as no type
        del converted["type"]
    elif isinstance(kind, str):
        converted["type"] = _JSON_TYPES.get(kind, kind)
    return converted


def _read_lines(name: str) -> list[Json]:
    path = _data_folder() / name
    return [json.loads(line) for line in path.read_text(encoding="utf8").splitlines() if line.strip()]


def _data_folder() -> Path:
    spec = find_spec("bfcl_eval")
    if spec is None or spec.origin is None:
        raise FileNotFoundError("bfcl-eval is not installed: `pip install --no-deps bfcl-eval==2026.3.23`")
    return Path(spec.origin).parent / "data"


def published_opening(entry: Entry) -> list[Message]:
    """Returns the system prompt with the functions, and the first request, for models without a function API.

    The package's texts make zero-shot figures comparable with published ones.
    """
    from bfcl_eval.constants import default_prompts as package

    style = package.PROMPT_STYLE_TEMPLATES[_STYLE]
    hinted = [{**each, "description": each["description"] + _HINT} for each in documents_of(entry, 0)]
    functions = json.dumps(hinted, indent=4)
    system: str = package.PROMPT_TEMPLATE_MAPPING[_PROMPT].format(
        persona=style["persona"],
        task=style["task"],
        tool_call_format=style["tool_call_no_tag"].format(
            output_format=package.OUTPUT_FORMAT_MAPPING[_RETURN],
            param_types=package.PARAM_TYPE_MAPPING[_RETURN],
        ),
        multiturn_behavior=style["multiturn_behavior"],
        available_tools=style["available_tools"].format(format=_DOCUMENTS, functions=functions),
    )
    first, *rest = entry.turns[0]
    if first["role"] == "system":
        return [{"role": "system", "content": f"{system}\n\n{first['content']}"}, *rest]
    return [{"role": "system", "content": system}, first, *rest]


def published_addition(entry: Entry, turn: int) -> Message:
    """Returns the request of a turn in which further functions become available."""
    from bfcl_eval.constants.default_prompts import DEFAULT_USER_PROMPT_FOR_ADDITIONAL_FUNCTION_PROMPTING

    documents = {document["name"]: document for document in documents_of(entry, turn)}
    added = [documents[name] for name in entry.held_back[turn] if name in documents]
    return {
        "role": "user",
        "content": DEFAULT_USER_PROMPT_FOR_ADDITIONAL_FUNCTION_PROMPTING.format(functions=added),
    }
