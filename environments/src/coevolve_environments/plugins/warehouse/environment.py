"""warehouse: pick the items of an order from their shelves. A world for studies of graded rewards.

Tasks, actions and successes are the same for every number of sub-goals; only the reward of a failure differs.
With one sub-goal every failure scores 0, so no failure outranks another. Every item has a usual shelf, which
a policy can learn by heart; the few items that were moved are in the task's text, and must be read there.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from coevolve_environments.plugins.spellings import COMMAND_ARGUMENTS, action_text
from coevolve_environments.plugins.warehouse.tasks import (
    ITEMS,
    MAX_PICKS,
    NAME,
    Parent,
    draw_tasks,
    draw_variants,
    goal_of,
    read_options,
    shelf_of,
)
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
        return draw_tasks(split, count, seed, read_options(options))

    def variants(
        self, parents: Sequence[Json], relation: Relation, count: int, seed: int, options: Mapping[str, Any]
    ) -> list[Variant]:
        orders = [Order(parent) for parent in parents]
        chosen = [Parent(order.items, order.moved, order.subgoals) for order in orders]
        return draw_variants(chosen, relation, count, seed, read_options(options))

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
        task = goal_of(self.items, self.moved)
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
        if shelf != shelf_of(item, self.moved):
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
