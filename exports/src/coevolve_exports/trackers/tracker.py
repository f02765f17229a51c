"""The messages of a mirror, and the contract of a tracker."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypedDict


class Run(TypedDict):
    """A campaign."""

    id: str
    """Unique among all campaigns: name and time of the start."""
    name: str
    created: float
    """Time of the start in seconds since 1970."""
    config: dict[str, Any]
    """Recipe, environment, seed and spec, as nested JSON."""


class Key(NamedTuple):
    """Identity of a row within its run. A tracker stores it with the points, so a restart finds it there."""

    prefix: str
    step: int
    at: float


class Row(NamedTuple):
    """Numbers of one committed row of the database. A tracker stores all of them in one write, or none."""

    prefix: str
    """First part of the names of its points, such as `train/target`."""
    axis: str
    """Name of the number that `step` counts: `iteration`, or `train/target/update`."""
    step: int
    at: float
    """Time of the row in seconds since 1970."""
    values: dict[str, float]
    """Numbers by name, in the order of their names; at least one."""

    @property
    def key(self) -> Key:
        return Key(self.prefix, self.step, self.at)


class Tracker(Protocol):
    def open(self, run: Run) -> set[Key]:
        """Begins or continues a run. Returns the rows that it is known to have."""

    def write(self, run: Run, rows: Sequence[Row]) -> None:
        """Stores rows that the run does not have, or that the tracker can recognize as stored."""

    def end(self, run: Run, *, finished: bool) -> None:
        """Closes a run whose rows are complete. `finished`: its campaign has ended."""


def flat(config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str | float | bool]]:
    """Returns the settings of a nested config under dotted names; lists and nulls as JSON."""
    for name, value in config.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{name}.")
        else:
            plain = isinstance(value, (str, int, float, bool))
            yield f"{prefix}{name}", value if plain else json.dumps(value)
