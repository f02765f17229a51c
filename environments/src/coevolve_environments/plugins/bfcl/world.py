"""The package's objects of one session, and calls of their functions."""

import importlib
import inspect
import json
from collections.abc import Callable
from copy import deepcopy
from functools import cache, lru_cache
from typing import Any

from coevolve_environments.plugins.bfcl.calls import Call
from coevolve_environments.plugins.bfcl.entries import CLASS_FILES, Entry

_PACKAGE = "bfcl_eval.eval_checker.multi_turn_eval.func_source_code"
_EXCEPTION = "Error during execution:"  # as the package's executor writes it
_STATELESS = {"MathAPI"}
# Index and name of the argument that determines the computing time.
_COSTLY = {"power": (1, "exponent"), "logarithm": (2, "precision"), "square_root": (1, "precision"),
           "round_number": (1, "decimal_places")}  # fmt: skip
_MAX_COST = 5_000
_CACHED_CONFIGS = 2_048  # some KB each: all of the package's and composed ones
_MAX_RESULT_CHARACTERS = 100_000  # the longest gold result has 31,706


class World:
    """Owns the instances, so that they end with the session."""

    def __init__(self, entry: Entry) -> None:
        self.instances = {name: _load(entry, name) for name in entry.classes}
        self._owners = _owners(tuple(entry.classes))

    def call(self, call: Call) -> str:
        """Returns the result in the text form of the package's executor, also for a failed call."""
        try:
            return _to_text(self._result(call))[:_MAX_RESULT_CHARACTERS]
        except Exception as error:  # the policy reads every error of the package
            return f"{_EXCEPTION} {error}"

    def _result(self, call: Call) -> Any:
        if call.name not in self._owners:
            raise NameError(f"name '{call.name}' is not defined")
        positional = tuple(map(self._argument, call.positional))
        keyword = {name: self._argument(value) for name, value in call.keyword.items()}
        _check_cost(Call(call.name, positional, keyword))
        defaults = _mutable_defaults(self._owners[call.name], call.name)
        if defaults:  # a function that changes its default would change every later world of this process
            given = {*self.parameters(call.name)[: len(positional)], *keyword}
            keyword |= {name: deepcopy(value) for name, value in defaults.items() if name not in given}
        return self._function(call.name)(*positional, **keyword)

    def _argument(self, value: Any) -> Any:
        return self._result(value) if isinstance(value, Call) else value

    def parameters(self, name: str) -> list[str]:
        """Returns the names of a function's parameters in their order. Raises KeyError if unknown."""
        return list(inspect.signature(self._function(name)).parameters)

    def _function(self, name: str) -> Callable[..., Any]:
        function: Callable[..., Any] = getattr(self.instances[self._owners[name]], name)
        return function


def failed(result: str) -> bool:
    """Returns whether a call failed: by an exception, or by an `error` in the class's own result."""
    if result.startswith(_EXCEPTION):
        return True
    try:
        written = json.loads(result)
    except ValueError:
        return False
    return isinstance(written, dict) and "error" in written


def _load(entry: Entry, name: str) -> Any:
    instance = _class(name)()
    if name not in _STATELESS:
        config = json.loads(_config_json(entry, name))
        instance._load_scenario(config, long_context=entry.category == "long_context")
    return instance


@lru_cache(_CACHED_CONFIGS)
def _config_json(entry: Entry, name: str) -> str:
    """Returns the configuration as JSON. A scenario keeps and changes its objects, so each needs new ones:
    JSON takes 48 us, `copy.deepcopy` 125.
    """
    return json.dumps(entry.config.get(name, {}))


@cache
def _owners(classes: tuple[str, ...]) -> dict[str, str]:
    """Returns the class of each function; of two classes with the same function the later one counts."""
    return {
        function: name
        for name in classes
        for function, _ in inspect.getmembers(_class(name), inspect.isfunction)
        if not function.startswith("_")
    }


@cache
def _mutable_defaults(owner: str, function: str) -> dict[str, Any]:
    parameters = inspect.signature(getattr(_class(owner), function)).parameters.values()
    return {p.name: deepcopy(p.default) for p in parameters if isinstance(p.default, list | dict | set)}


@cache
def _class(name: str) -> Any:
    return getattr(importlib.import_module(f"{_PACKAGE}.{CLASS_FILES[name]}"), name)


def _check_cost(call: Call) -> None:
    if call.name in _COSTLY:
        position, name = _COSTLY[call.name]
        value = call.positional[position] if len(call.positional) > position else call.keyword.get(name)
        if isinstance(value, int | float) and abs(value) > _MAX_COST:
            raise ValueError(f"{name} must be at most {_MAX_COST}")


def _to_text(result: object) -> str:
    if isinstance(result, str):
        return result
    if isinstance(result, dict):
        try:
            return json.dumps(result)
        except (TypeError, ValueError):  # not JSON, for example an mpmath number
            return str(result)
    return str(result)
