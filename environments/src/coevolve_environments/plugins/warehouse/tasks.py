"""Orders of the warehouse: how they are drawn, and which are near to a parent."""

import hashlib
import random
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import cycle, islice
from typing import Any

from coevolve_environments.plugins.mix import Quotas, Weights, read_mix
from coevolve_environments.plugins.validation import integer_in_range, refuse_unknown
from coevolve_environments.protocol import Relation, Split, TaskRecord, Variant

NAME = "warehouse"
SHELVES = "ABCDEFGH"
ITEMS = (
    *("bolt", "brush", "candle", "chain", "clock", "comb", "cup", "drum", "fork", "glove", "hammer", "hook"),
    *("jar", "key", "lamp", "mirror", "nail", "pan", "pen", "rope", "saw", "spoon", "towel", "wheel"),
)
USUAL = {item: SHELVES[n * 5 % len(SHELVES)] for n, item in enumerate(ITEMS)}
MAX_PICKS = 8
DEFAULT_PICKS = 5
MOVED = 3
"""Items on another shelf than usual in each task; none up to all of them belong to the order."""
PATTERNS = {f"moved-{moved}": moved for moved in range(MOVED + 1)}
"""Ordered items that were moved, by the name of the pattern."""


@dataclass(frozen=True)
class Options:
    picks: int
    """Items of an order."""
    subgoals: int
    """Parts of the reward."""
    mix: Mapping[str, Weights]
    """Weights of the patterns by draw. A draw that is missing has equal weights."""


@dataclass(frozen=True)
class Parent:
    """Properties of an order that relations use."""

    items: Sequence[str]
    moved: Mapping[str, str]
    subgoals: int


@dataclass(frozen=True)
class Draw:
    """How an order is drawn."""

    parent: int | None
    """Position of the parent."""
    picks: int
    subgoals: int
    items: Sequence[str] = ITEMS
    """Items that may be ordered."""
    moved: int | None = None
    """Ordered items that were moved; the number is drawn if None."""


def read_options(options: Mapping[str, Any]) -> Options:
    """
    Raises:
        BadRequest: an unknown option, a number out of range, or a weight of an unknown pattern.
    """
    refuse_unknown(options, Options.__dataclass_fields__)
    picks = integer_in_range(options.get("picks", DEFAULT_PICKS), "options.picks", MAX_PICKS)
    subgoals = integer_in_range(options.get("subgoals", picks), "options.subgoals", picks)
    patterns = [pattern for pattern, moved in PATTERNS.items() if moved <= picks]
    return Options(picks, subgoals, read_mix(options, patterns))


def draw_tasks(split: Split, count: int, seed: int, options: Options) -> list[TaskRecord]:
    """Draws tasks. The same `picks` and `mix` give the same tasks for every number of `subgoals`."""
    generator = random.Random(f"{seed}/{split}/{options.picks}")
    weights = options.mix.get("train" if split == "train" else "heldOut")
    draws = [Draw(None, options.picks, options.subgoals)]
    return [variant.record for variant in _collect(generator, draws, count, split, weights)]


def draw_variants(
    parents: Sequence[Parent], relation: Relation, count: int, seed: int, options: Options
) -> list[Variant]:
    """Draws train tasks: orders as long as the parent's with as many sub-goals, for each parent in turn.

    neighbour  the parent's items, in another order or moved otherwise, as many of them moved
    easier     any items, one moved item fewer
    harder     any items, one moved item more
    random     any order that the options allow, without parent; by the weights `mix.proposal`
    """
    generator = random.Random(f"{seed}/{relation}")
    taken = {_key(parent.items, parent.moved) for parent in parents}
    if relation == "random":
        draws = [Draw(None, options.picks, options.subgoals)]
        return _collect(generator, draws, count, "train", options.mix.get("proposal"), taken)
    draws = [
        Draw(n, len(parent.items), parent.subgoals, parent.items if relation == "neighbour" else ITEMS, moved)
        for n, (parent, moved) in enumerate(zip(parents, _moved_in_variants(parents, relation), strict=True))
        if moved is not None
    ]
    return _collect(generator, draws, count, "train", None, taken)


def _collect(
    generator: random.Random,
    draws: Sequence[Draw],
    count: int,
    split: Split,
    weights: Weights | None,
    taken: Set[str] = frozenset(),
) -> list[Variant]:
    """Returns distinct tasks of a split, by each draw in turn. A rejected one is replaced by its pattern."""
    quotas = None if weights is None else Quotas(weights)
    found: dict[str, Variant] = {}
    # One task in four is held out, and with one pick many draws repeat
    for draw in islice(cycle(draws), 40 * count):
        if len(found) == count:
            break
        pattern = quotas and quotas.next()
        task = _draw(generator, replace(draw, moved=PATTERNS[pattern]) if pattern else draw)
        if task.split != split or task.content_key in taken or task.content_key in found:
            continue
        found[task.content_key] = Variant(task, draw.parent)
        if quotas and pattern:
            quotas.count(pattern)
    return list(found.values())


def _moved_in_variants(parents: Sequence[Parent], relation: Relation) -> list[int | None]:
    """Returns for each parent how many items of a variant are moved; None if no variant has the relation."""
    numbers = [len(set(parent.items) & set(parent.moved)) for parent in parents]
    step = {"neighbour": 0, "easier": -1, "harder": 1}[relation]
    return [
        number + step if 0 <= number + step <= min(MOVED, len(parent.items)) else None
        for number, parent in zip(numbers, parents, strict=True)
    ]


def _draw(generator: random.Random, draw: Draw) -> TaskRecord:
    order = generator.sample(draw.items, draw.picks)
    moved_in_order = draw.moved
    if moved_in_order is None:
        moved_in_order = generator.randint(0, min(MOVED, draw.picks))
    others = [item for item in ITEMS if item not in order]
    moved_items = generator.sample(order, moved_in_order) + generator.sample(others, MOVED - moved_in_order)
    moved = {item: generator.choice(SHELVES.replace(USUAL[item], "")) for item in sorted(moved_items)}
    key = _key(order, moved)
    # The split depends on the content, so no task is in both splits
    split: Split = "held-out" if int(key[:8], 16) % 4 == 0 else "train"
    task_id = f"{NAME}/{key[:16]}"
    definition = {
        "task_id": task_id,
        "split": split,
        "order": order,
        "moved": moved,
        "subgoals": draw.subgoals,
    }
    return TaskRecord(
        task_id=task_id,
        split=split,
        goal=goal_of(order, moved),
        definition=definition,
        features={"pattern": f"moved-{moved_in_order}", "difficulty": 1 + moved_in_order},
        content_key=key,
        reference_actions=[f"pick {item} from {shelf_of(item, moved)}" for item in order],
    )


def _key(order: Sequence[str], moved: Mapping[str, str]) -> str:
    return hashlib.sha256(f"{list(order)} {dict(sorted(moved.items()))}".encode()).hexdigest()


def goal_of(order: Sequence[str], moved: Mapping[str, str]) -> str:
    places = ", ".join(f"{item} to {shelf}" for item, shelf in moved.items())
    return f"Moved today: {places}. Order: {', '.join(order)}."


def shelf_of(item: str, moved: Mapping[str, str]) -> str:
    return moved.get(item, USUAL[item])
