"""The package's objects of one session, and calls on them."""

import importlib
import inspect
import json
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

from coevolve_environments.plugins.bfcl.calls import Call
from coevolve_environments.plugins.bfcl.entries import CLASS_FILES, Entry

_PACKAGE = "bfcl_eval.eval_checker.multi_turn_eval.func_source_code"
_EXCEPTION = "Error during execution:"  # as the package's executor writes it
_STATELESS = {"MathAPI"}
# Position and name of the argument that decides how long the function computes.
_COSTLY = {"power": (1, "exponent"), "logarithm": (2, "precision"), "square_root": (1, "precision"),
           "round_number": (1, "decimal_places")}  # fmt: skip
_LARGEST_COST = 5_000
_KEPT = 2_048  # configurations, some KB each: all of the package's and composed ones
_LONGEST_RESULT = 100_000  # characters; the longest gold answer has 31,706


class World:
    """Instances belong to this object alone, so that they end with the session."""

    def __init__(self, entry: Entry) -> None:
        self.instances = {name: _load(entry, name) for name in entry.classes}
        self._owners = _owners(tuple(entry.classes))

    def call(self, call: Call) -> str:
        """The result as the package's executor writes it; a failure of the call is a result too."""
        try:
            if call.name not in self._owners:
                raise NameError(f"name '{call.name}' is not defined")
            _check_cost(call)
            result = self._function(call.name)(*call.positional, **call.keyword)
            return _written(result)[:_LONGEST_RESULT]
        except Exception as error:  # whatever the package raises is what the policy gets to read
            return f"{_EXCEPTION} {error}"

    def parameters(self, name: str) -> list[str]:
        """Names of a function's parameters in their order; raises KeyError for a function it has not."""
        return list(inspect.signature(self._function(name)).parameters)

    def _function(self, name: str) -> Callable[..., Any]:
        function: Callable[..., Any] = getattr(self.instances[self._owners[name]], name)
        return function


def failed(result: str) -> bool:
    """Whether a call's result says that it failed: by an exception, or as the classes say it themselves."""
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
        config = json.loads(_written_config(entry, name))
        instance._load_scenario(config, long_context=entry.category == "long_context")
    return instance


@lru_cache(_KEPT)
def _written_config(entry: Entry, name: str) -> str:
    """A scenario takes its configuration's objects for its own: each gets new ones, read from JSON as the
    first were, in 48 us instead of the 125 of `copy.deepcopy`.
    """
    return json.dumps(entry.config.get(name, {}))


@cache
def _owners(classes: tuple[str, ...]) -> dict[str, str]:
    """Function and the class that it belongs to; where two have it, the later one's is called."""
    return {
        function: name
        for name in classes
        for function, _ in inspect.getmembers(_class(name), inspect.isfunction)
        if not function.startswith("_")
    }


@cache
def _class(name: str) -> Any:
    return getattr(importlib.import_module(f"{_PACKAGE}.{CLASS_FILES[name]}"), name)


def _check_cost(call: Call) -> None:
    if call.name in _COSTLY:
        position, name = _COSTLY[call.name]
        value = call.positional[position] if len(call.positional) > position else call.keyword.get(name)
        if isinstance(value, int | float) and abs(value) > _LARGEST_COST:
            raise ValueError(f"{name} must be at most {_LARGEST_COST}")


def _written(result: object) -> str:
    if isinstance(result, str):
        return result
    if isinstance(result, dict):
        try:
            return json.dumps(result)
        except (TypeError, ValueError):  # an object that JSON cannot hold, such as an mpmath number
            return str(result)
    return str(result)
