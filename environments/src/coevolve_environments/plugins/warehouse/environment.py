"""warehouse: pick the items of an order from their shelves. A world for studies of graded rewards.

Tasks, actions and successes are the same for every number of sub-goals; only the reward of a failure differs.
With one sub-goal every failure scores 0, so no failure outranks another. Every item has a usual shelf, which
a policy can learn by heart; the few items that were moved are in the task's text, and must be read there.
"""

import hashlib
import random
import re
from collections.abc import Mapping, Sequence
from itertools import cycle, islice
from typing import Any

from coevolve_environments.plugins.spellings import COMMAND_ARGUMENTS, action_text
from coevolve_environments.plugins.validation import integer_in_range, refuse_unknown
from coevolve_environments.protocol import (
    BadRequest,
    Capabilities,
    Environment,
    Json,
    Observation,
    Relation,
    SpecDefaults,
    Split,
    TaskRecord,
    Variant,
)
from coevolve_environments.settings import Settings

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

_PICK = re.compile(r"pick (\w+) from ([a-z])", re.IGNORECASE)


def create(settings: Settings) -> Environment:
    return Warehouse()


class Warehouse(Environment):
    name = NAME
    description = "Pick the items of an order from their shelves; the reward counts the sub-goals reached."
    inline = True  # an action takes microseconds and needs no thread
    capabilities = Capabilities(
        variants=True,
        replay="observations",
        dense_reward=True,
        max_turns=2 * MAX_PICKS,
        compose="none",
    )
    # Fewer orders are learned by heart. The start ends early, which leaves something to the iterations
    spec_defaults = SpecDefaults(
        train_tasks=2000,
        held_out_tasks=400,
        settings={
            "rollouts.tasksPerIteration": 100,
            "training.sft.epochs": 8,
            "training.sft.learningRate": 0.002,
            "training.sft.schedule": "constant",
            "training.sft.stopAtLoss": 0.06,
            "training.target.learningRate": 0.0005,
        },
    )

    def published(self, split: Split) -> Sequence[TaskRecord]:
        return self.tasks(split, 50, 0, {})

    def tasks(self, split: Split, count: int, seed: int, options: Mapping[str, Any]) -> list[TaskRecord]:
        """Draws tasks. The same `picks` give the same tasks for every number of `subgoals`."""
        picks, subgoals = _sizes(options)
        generator = random.Random(f"{seed}/{split}/{picks}")
        found: dict[str, TaskRecord] = {}
        for _ in range(40 * count):  # one task in four is held out, and with one pick many draws repeat
            record = _draw(generator, picks, subgoals)
            if record.split == split and len(found) < count:
                found.setdefault(record.content_key, record)
        return list(found.values())

    def variants(
        self, parents: Sequence[Json], relation: Relation, count: int, seed: int, options: Mapping[str, Any]
    ) -> list[Variant]:
        """Draws train tasks: orders as long as the parent's with as many sub-goals, for each parent in turn.

        neighbour  the parent's items, in another order or moved otherwise, as many of them moved
        easier     any items, one moved item fewer
        harder     any items, one moved item more
        random     any order that the options allow, without parent
        """
        picks, subgoals = _sizes(options)
        generator = random.Random(f"{seed}/{relation}")
        orders = [Order(parent) for parent in parents]
        draws: list[tuple[int | None, tuple[int, int, Sequence[str], int | None]]] = []
        if relation == "random":
            draws.append((None, (picks, subgoals, ITEMS, None)))
        else:
            for n, moved in enumerate(_moved_in_variants(orders, relation)):
                items = orders[n].items
                if moved is not None:
                    chosen = items if relation == "neighbour" else ITEMS
                    draws.append((n, (len(items), orders[n].subgoals, chosen, moved)))
        taken = {_key(order.items, order.moved) for order in orders}
        found: dict[str, Variant] = {}
        for parent, arguments in islice(cycle(draws), 40 * count):  # many draws of a short order repeat
            if len(found) == count:
                break
            record = _draw(generator, *arguments)
            if record.split == "train" and record.content_key not in taken:
                found.setdefault(record.content_key, Variant(record, parent))
        return list(found.values())

    def start(self, definition: Json, seed: int) -> "Order":
        return Order(definition)


class Order:
    """One attempt. A wrong pick cancels the order, so a failure has the sub-goals that it had reached."""

    def __init__(self, definition: Json) -> None:
        try:
            self.task_id, self.split = str(definition["task_id"]), str(definition["split"])
            self.items = [str(item) for item in definition["order"]]
            self.moved = {str(item): str(shelf) for item, shelf in definition["moved"].items()}
            self.subgoals = int(definition["subgoals"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise BadRequest(f"invalid task definition: {error!r}") from None
        if not self.items or not {*self.items, *self.moved} <= set(ITEMS):
            raise BadRequest(f"`order` and `moved` must name items of {', '.join(ITEMS)}")
        if not 1 <= self.subgoals <= len(self.items):
            raise BadRequest(f"`subgoals` must be 1..{len(self.items)}, got {self.subgoals}")
        self._picked, self._turns = 0, 0

    def open(self) -> Observation:
        rules = "You pick orders in a warehouse. Say `pick <item> from <shelf>`, in the order of the list."
        task = _goal(self.items, self.moved)
        first = f"{task} First: {self.items[0]}."
        opening = [{"role": "system", "content": rules}, {"role": "user", "content": first}]
        return Observation(opening, turn=0, instruction=task)

    def act(self, content: str) -> Observation:
        self._turns += 1
        # Blanks count: with others than single spaces a pick is unreadable in the published experiments
        said = _PICK.fullmatch(action_text(content, COMMAND_ARGUMENTS).rstrip("."))
        if said is None:
            return self._reply("Say `pick <item> from <shelf>`.", is_cancelled=False)
        item, shelf = said[1].lower(), said[2].upper()
        expected = self.items[self._picked]
        if item != expected:
            return self._reply(f"Next was the {expected}. The order is cancelled.", is_cancelled=True)
        if shelf != _shelf_of(item, self.moved):
            return self._reply(f"No {item} on shelf {shelf}. The order is cancelled.", is_cancelled=True)
        self._picked += 1
        is_complete = self._picked == len(self.items)
        text = "The order is complete." if is_complete else f"Next: {self.items[self._picked]}."
        return self._reply(f"You have the {item}. {text}", is_cancelled=False)

    def close(self) -> None:
        """Nothing to free."""

    def _reply(self, text: str, *, is_cancelled: bool) -> Observation:
        picks = len(self.items)
        is_success = self._picked == picks
        # Sub-goal k of L is reached with pick ceil(k * picks / L)
        score = self._picked * self.subgoals // picks / self.subgoals
        messages = [{"role": "user", "content": text}]
        is_over = is_success or is_cancelled
        if not is_over and self._turns < 2 * picks:
            return Observation(messages, self._turns, score=score)
        return Observation.final(
            messages,
            self._turns,
            reward=score,
            raw_score=score,
            success=is_success,
            stop_reason="completed" if is_over else "turn-limit",
            score=score,
        )


def _sizes(options: Mapping[str, Any]) -> tuple[int, int]:
    """Returns the numbers of picks and of sub-goals."""
    refuse_unknown(options, ("picks", "subgoals"))
    picks = integer_in_range(options.get("picks", DEFAULT_PICKS), "options.picks", MAX_PICKS)
    return picks, integer_in_range(options.get("subgoals", picks), "options.subgoals", picks)


def _moved_in_variants(orders: Sequence[Order], relation: Relation) -> list[int | None]:
    """Returns for each order how many items of a variant are moved; None if no variant has the relation."""
    numbers = [len(set(order.items) & set(order.moved)) for order in orders]
    step = {"neighbour": 0, "easier": -1, "harder": 1}[relation]
    return [
        number + step if 0 <= number + step <= min(MOVED, len(order.items)) else None
        for number, order in zip(numbers, orders, strict=True)
    ]


def _draw(
    generator: random.Random,
    picks: int,
    subgoals: int,
    items: Sequence[str] = ITEMS,
    within: int | None = None,
) -> TaskRecord:
    """Draws a task.

    Args:
        items: the items that may be ordered.
        within: number of ordered items that were moved; it is drawn if None.
    """
    order = generator.sample(items, picks)
    if within is None:
        within = generator.randint(0, min(MOVED, picks))
    others = [item for item in ITEMS if item not in order]
    moved_items = generator.sample(order, within) + generator.sample(others, MOVED - within)
    moved = {item: generator.choice(SHELVES.replace(USUAL[item], "")) for item in sorted(moved_items)}
    key = _key(order, moved)
    # The split depends on the content, so no task is in both splits
    split: Split = "held-out" if int(key[:8], 16) % 4 == 0 else "train"
    task_id = f"{NAME}/{key[:16]}"
    definition = {"task_id": task_id, "split": split, "order": order, "moved": moved, "subgoals": subgoals}
    return TaskRecord(
        task_id=task_id,
        split=split,
        goal=_goal(order, moved),
        definition=definition,
        features={"pattern": f"moved-{within}", "difficulty": 1 + within},
        content_key=key,
        reference_actions=[f"pick {item} from {_shelf_of(item, moved)}" for item in order],
    )


def _key(order: Sequence[str], moved: Mapping[str, str]) -> str:
    return hashlib.sha256(f"{list(order)} {dict(sorted(moved.items()))}".encode()).hexdigest()


def _goal(order: Sequence[str], moved: Mapping[str, str]) -> str:
    places = ", ".join(f"{item} to {shelf}" for item, shelf in moved.items())
    return f"Moved today: {places}. Order: {', '.join(order)}."


def _shelf_of(item: str, moved: Mapping[str, str]) -> str:
    return moved.get(item, USUAL[item])
