"""The package's objects of one session, calls of their functions, and the changes that calls make."""

import importlib
import inspect
import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from functools import cache, lru_cache
from threading import Lock
from typing import Any

from coevolve_environments.plugins.bfcl.calls import Call, parse_calls
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
_MAX_CHARACTERS = 60
_MAX_DEPTH = 20
"""Also ends the walk through a directory that was copied into itself."""
_CACHED_ENTRIES = 1024
"""About 30 KB each: all 800, which every epoch plays again, and composed ones."""


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


def changes_between(before: World, after: World) -> list[str]:
    """Returns a line for each value that differs, with its path."""
    old, new = _values(before), _values(after)
    return [
        f"{path}: {_short(old.get(path, 'nothing'))} -> {_short(new.get(path, 'nothing'))}"
        for path in sorted({*old, *new})
        if old.get(path) != new.get(path)
    ]


def _short(text: str) -> str:
    return text if len(text) <= _MAX_CHARACTERS else f"{text[:_MAX_CHARACTERS]}..."


def _values(world: World) -> dict[str, str]:
    return {
        path: text
        for name, instance in world.instances.items()
        for attribute, value in vars(instance).items()
        if not attribute.startswith("_")
        for path, text in _leaves(value, f"{name}.{attribute}")
    }


def _leaves(value: Any, path: str, depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yields the texts and numbers of a value with their paths; a file counts as its content."""
    children = getattr(value, "contents", value)  # of a directory
    if isinstance(children, list | tuple):
        children = dict(enumerate(children))
    if isinstance(children, dict) and children and depth < _MAX_DEPTH:
        for key, child in children.items():
            yield from _leaves(child, f"{path}/{key}", depth + 1)
    elif hasattr(value, "content"):
        yield path, repr(value.content)
    else:
        yield path, "empty" if isinstance(children, dict) else repr(value)


@dataclass(frozen=True)
class GoldTurn:
    """The world after the gold calls of a turn. Read-only: all episodes of the entry compare with it."""

    instances: dict[str, Any]
    responses: list[str]


@lru_cache(_CACHED_ENTRIES)
def gold_of(entry: Entry) -> "GoldTurns":
    return GoldTurns(entry)


class GoldTurns:
    """Plays a turn when an episode first ends it, so that an unplayed entry costs nothing."""

    def __init__(self, entry: Entry) -> None:
        self._entry = entry
        self._turns: list[GoldTurn] = []
        self._world: World | None = None
        self._lock = Lock()

    def after(self, turn: int) -> GoldTurn:
        with self._lock:
            while len(self._turns) <= turn:
                self._turns.append(self._play(len(self._turns)))
        return self._turns[turn]

    def _play(self, turn: int) -> GoldTurn:
        if self._world is None:
            self._world = World(self._entry)
        calls = [call for text in self._entry.answers[turn] for call in parse_calls(text)]
        responses = [self._world.call(call) for call in calls]
        if not responses and self._turns:
            return GoldTurn(self._turns[-1].instances, responses)
        public = _without_private(self._world.instances)
        if turn + 1 == len(self._entry.answers):  # no later turn can change these objects
            self._world = None
            return GoldTurn(public, responses)
        return GoldTurn(deepcopy(public), responses)


def _without_private(instances: dict[str, Any]) -> dict[str, Any]:
    """Keeps the attributes that the checker compares; the private random generators are slow to copy."""
    shells = {}
    for name, instance in instances.items():
        shells[name] = shell = object.__new__(type(instance))
        vars(shell).update({key: value for key, value in vars(instance).items() if not key.startswith("_")})
    return shells
