"""The part of the trainer on which other programs rely: its settings, and the fields of two files."""

from __future__ import annotations

from dataclasses import Field, fields
from typing import Any

from .job import OPTIONAL, REQUIRED
from .progress import OWN_FIELDS, STATUS_FIELDS
from .settings import SETTINGS


def contract() -> dict[str, dict[str, object]]:
    """Returns the content of src/specification/trainer-contract.json, from which the spec's schema is made.

    A field of job.json is required or not; a field of status.json outlives the process that wrote it or not.
    """
    return {
        "settings": {
            method: {_camel_case(setting.name): _facts(setting) for setting in fields(kind)}
            for method, kind in SETTINGS.items()
        },
        "job": {name: name in REQUIRED for name in REQUIRED + OPTIONAL},
        "status": {name: name not in OWN_FIELDS for name in STATUS_FIELDS},
    }


def _facts(setting: Field[Any]) -> dict[str, object]:
    """Returns default, range or choices, and whether the setting is an integer and whether it can be null."""
    kind = str(setting.type)
    facts: dict[str, object] = {"default": setting.default}
    if kind == "str":
        return facts | {"choices": setting.metadata["choices"]}
    facts |= {"low": setting.metadata["low"], "high": setting.metadata["high"]}
    if kind.startswith("int"):
        facts["integer"] = True
    if kind.endswith("None"):
        facts["nullable"] = True
    return facts


def _camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))
