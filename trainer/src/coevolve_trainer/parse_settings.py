"""Reads the settings of a job: defaults, types, ranges."""

from __future__ import annotations

from dataclasses import Field, fields, replace
from typing import Any

from .failures import bad_input
from .settings import SETTINGS, InitSettings, Settings, TrainSettings


def parse_settings(method: str, given: object) -> Settings:
    """Returns the defaults overridden by `given`; raises `bad-input` for an unknown key, type or range."""
    if not isinstance(given, dict):
        raise bad_input("settings", type(given).__name__, "an object")
    kind = SETTINGS[method]
    known = {f.name: f for f in fields(kind)}
    for name in given:
        if name not in known:
            raise bad_input(f"settings.{name}", "an unknown setting", f"one of {', '.join(sorted(known))}")
    parsed = kind(**{name: _parse_value(known[name], value) for name, value in given.items()})
    if isinstance(parsed, InitSettings) and parsed.heads % parsed.kv_heads != 0:
        raise bad_input("settings.kv_heads", parsed.kv_heads, f"a divisor of heads ({parsed.heads})")
    if isinstance(parsed, TrainSettings) and parsed.updates is not None:
        if "epochs" in given:
            expected = f"nothing: settings.updates is {parsed.updates} and determines the length of the job"
            raise bad_input("settings.epochs", given["epochs"], expected)
        return replace(parsed, epochs=None)
    return parsed


def _parse_value(known: Field[Any], value: object) -> Any:
    name, low, high = f"settings.{known.name}", known.metadata["low"], known.metadata["high"]
    choices = known.metadata["choices"]
    if choices:
        if value not in choices:
            raise bad_input(name, repr(value), f"one of {', '.join(choices)}")
        return value
    if value is None and known.default is None:
        return None
    is_integer = str(known.type).startswith("int")
    if isinstance(value, bool) or not isinstance(value, int if is_integer else (int, float)):
        raise bad_input(name, repr(value), "an integer" if is_integer else "a number")
    assert isinstance(value, (int, float))
    if not low <= value <= high:
        raise bad_input(name, value, f"{low:g} to {high:g}")
    return value if is_integer else float(value)
