"""Train and held-out entries. The package has no split, so splits are chosen by name.

Every split divides each of its categories by index, in the package's order. The categories share their
scenarios: entry n of the other three is an altered entry n of base, and of the 555 distinct contents in 800
entries none is at two indices. Equal index ranges therefore keep each content in one split.

agentevolver  multi_turn_base: the first 100 train, the last 100 held out (AgentEvolver's train_ratio 0.5
              without a shuffle).
seal          400 train and 400 held out, 100 of each category. SEAL and RODS have these sizes; their
              choice of entries is not published, and the first 100 of each category are our choice.
custom        the operator's `train` and `held_out`, see `read_split`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from coevolve_environments.plugins.bfcl.entries import CATEGORIES, Entry
from coevolve_environments.plugins.validation import one_of
from coevolve_environments.protocol import BadRequest, Split

CATEGORY_SIZE = 200
SPLIT_OPTIONS = frozenset({"split", "categories", "train", "held_out"})

_NAMED: Mapping[str, tuple[str, ...]] = {"agentevolver": ("base",), "seal": CATEGORIES}
_CUSTOM = "custom"
NAMES = (*_NAMED, _CUSTOM)


@dataclass(frozen=True)
class EntrySplit:
    """Categories, and the train and held-out indices (0..199) in each of them."""

    categories: tuple[str, ...]
    train: range
    held_out: range

    def side(self, entry: Entry) -> Split | None:
        """Returns the split of an entry; None if it is in neither."""
        if entry.category not in self.categories:
            return None
        if entry.number in self.train:
            return "train"
        return "held-out" if entry.number in self.held_out else None


def read_split(options: Mapping[str, Any], default: str = "seal") -> EntrySplit:
    """Reads the options `split`, `categories`, and with `split: custom` also `train` and `held_out`.

    `train` is a fraction in (0, 1) of each category or a range [first, end) of indices. `held_out` is a range
    [first, end); the default is all entries after the train range.

    Raises:
        BadRequest: unknown name, or ranges that overlap or are empty.
    """
    name = one_of(options.get("split", default), "options.split", NAMES)
    categories = _categories(options.get("categories"), name)
    if name != _CUSTOM:
        if given := sorted({"train", "held_out"} & set(options)):
            raise BadRequest(f"`options.{given[0]}` needs `options.split` custom, got {name}")
        return EntrySplit(categories, range(100), range(100, CATEGORY_SIZE))
    train = _train(options.get("train"))
    held_out = _held_out(options.get("held_out"), train)
    if set(train) & set(held_out):
        raise BadRequest(f"`options.train` {_span(train)} and `options.held_out` {_span(held_out)} overlap")
    return EntrySplit(categories, train, held_out)


def _categories(value: object, split: str) -> tuple[str, ...]:
    of_split = _NAMED.get(split, CATEGORIES)
    if value is None or value == []:
        return of_split
    if not isinstance(value, list | tuple) or any(name not in CATEGORIES for name in value):
        raise BadRequest(f"`options.categories` must be a list of {', '.join(CATEGORIES)}, got {value!r}")
    if missing := [name for name in value if name not in of_split]:
        raise BadRequest(
            f"`options.categories` contains {missing[0]!r}; split {split} has {', '.join(of_split)}"
        )
    return tuple(value)


def _train(value: object) -> range:
    if isinstance(value, float) and 0 < round(value * CATEGORY_SIZE) < CATEGORY_SIZE:
        return range(round(value * CATEGORY_SIZE))
    if isinstance(value, list):
        return _range("train", value)
    raise BadRequest(
        f"`options.split` custom needs `options.train`, a fraction in (0, 1) or [first, end), got {value!r}"
    )


def _held_out(value: object, train: range) -> range:
    if value is not None:
        return _range("held_out", value)
    if train.stop == CATEGORY_SIZE:
        raise BadRequest(f"`options.train` {_span(train)} leaves the held-out split empty")
    return range(train.stop, CATEGORY_SIZE)


def _range(name: str, value: object) -> range:
    """Reads [first, end): integers with 0 <= first < end <= 200."""
    if isinstance(value, Sequence) and len(value) == 2 and all(type(bound) is int for bound in value):
        first, end = value
        if 0 <= first < end <= CATEGORY_SIZE:
            return range(first, end)
    raise BadRequest(f"`options.{name}` must be [first, end) within 0..{CATEGORY_SIZE}, got {value!r}")


def _span(indices: range) -> str:
    return f"[{indices.start}, {indices.stop})"
