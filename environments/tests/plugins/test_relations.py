"""The relations of every generator: variants of flagged tasks lie in the flagged region."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from itertools import islice
from typing import Any

import pytest

from coevolve_environments.plugins.intercode_sql.databases import wheel_databases
from coevolve_environments.plugins.intercode_sql.environment import InterCodeSql
from coevolve_environments.plugins.intercode_sql.sandbox import SqliteEngine
from coevolve_environments.plugins.scienceworld import options as scienceworld_options
from coevolve_environments.plugins.scienceworld import tasks as scienceworld
from coevolve_environments.plugins.scienceworld.task_types import TYPES
from coevolve_environments.plugins.textworld_express import options as textworld_options
from coevolve_environments.plugins.textworld_express import tasks as textworld
from coevolve_environments.plugins.warehouse.environment import Warehouse
from coevolve_environments.protocol import Environment, Relation

Relate = Callable[[Sequence[Any], Relation, int, int], list[Any]]


class Generator:
    """A pool of tasks, the operation of each, and the variants of some of them."""

    def __init__(self, pool: Sequence[Any], operation: Callable[[Any], str], relate: Relate) -> None:
        self.pool, self.operation, self.relate = pool, operation, relate

    def share(self, tasks: Sequence[Any], region: set[str]) -> float:
        return sum(self.operation(task) in region for task in tasks) / len(tasks)


def plugin(environment: Environment, options: dict[str, Any]) -> Generator:
    def relate(parents: Sequence[Any], relation: Relation, count: int, seed: int) -> list[Any]:
        definitions = [parent.definition for parent in parents]
        return [made.record for made in environment.variants(definitions, relation, count, seed, options)]

    pool = environment.tasks("train", 200, 4, options)
    return Generator(pool, lambda record: record.features["pattern"], relate)


def world(module: Any, options: Any, operation: Callable[[Any], str]) -> Generator:
    """The variations of a world without their solutions, which take a JVM some seconds each."""

    def relate(parents: Sequence[Any], relation: Relation, count: int, seed: int) -> list[Any]:
        return [made for made, _ in islice(module.relatives(parents, relation, seed, options), count)]

    return Generator(list(islice(module.draw("train", 4, options), 200)), operation, relate)


@cache
def generator(name: str) -> Generator:
    if name == "intercode-sql":
        databases = wheel_databases()
        sql = InterCodeSql(databases, SqliteEngine(databases), None, "")
        return plugin(sql, {"databases": ["singer", "orchestra", "tvshow", "pets_1"]})
    if name == "warehouse":
        return plugin(Warehouse(), {})
    if name == "scienceworld":
        return world(scienceworld, scienceworld_options.read_options({}), lambda one: str(one.type))
    return world(textworld, textworld_options.read_options({}), lambda one: f"{one.game} {one.parameters}")


GENERATORS = ("intercode-sql", "warehouse", "scienceworld", "textworld-express")
RELATIONS: dict[str, tuple[Relation, ...]] = {
    "forgetting": ("neighbour",),
    "boundary": ("neighbour", "easier", "harder"),
    "rare": ("neighbour",),
}
"""What the service asks for the tasks that a signal flags; `synthesize-tasks.ts` has the same table."""


def enrichments(world: Generator, relations: Sequence[Relation], *, inverted: bool = False) -> list[float]:
    """Returns for every operation how much more of it is among the variants of its tasks than in the pool.

    Args:
        inverted: makes the variants of all other tasks.
    """
    found = []
    operations = Counter(map(world.operation, world.pool))
    for number, name in enumerate(sorted(name for name, count in operations.items() if count > 4)):
        parents = [task for task in world.pool if (world.operation(task) == name) is not inverted][:4]
        count = 12 // len(relations)
        made = [task for each in relations for task in world.relate(parents, each, count, number)]
        if made:
            found.append(world.share(made, {name}) / world.share(world.pool, {name}))
    return found


@pytest.mark.parametrize("name", GENERATORS)
@pytest.mark.parametrize("signal", RELATIONS)
def test_variants_of_flagged_tasks_exercise_what_was_flagged(name: str, signal: str) -> None:
    found = enrichments(generator(name), RELATIONS[signal])
    assert len(found) > 3
    # A third of the variants at a boundary are of the same operation
    assert min(found) > 1


@pytest.mark.parametrize("name", GENERATORS)
@pytest.mark.parametrize(
    ("relations", "inverted"),
    [(("random",), False), (("easier", "harder"), False), (("neighbour",), True)],
    ids=["indifferent", "without-the-same", "inverted"],
)
def test_a_wrong_relation_fails_that_test(name: str, relations: tuple[Relation, ...], inverted: bool) -> None:
    assert min(enrichments(generator(name), relations, inverted=inverted)) < 1


@pytest.mark.parametrize(
    ("name", "relation"),
    [
        *((name, "random") for name in GENERATORS),
        *(
            (name, relation)
            for name in ("intercode-sql", "scienceworld")
            for relation in ("easier", "harder")
        ),
    ],
)
def test_the_seed_decides_which_of_several_operations_comes_first(name: str, relation: Relation) -> None:
    world = generator(name)
    firsts = [
        {world.operation(made) for seed in range(8) for made in world.relate([parent], relation, 1, seed)}
        for parent in world.pool[:12]
    ]
    assert max(map(len, firsts)) > 1


def test_sql_variants_keep_the_clauses_of_their_parent_where_the_difficulty_allows() -> None:
    world = generator("intercode-sql")
    [ordered] = [task for task in world.pool if task.features["pattern"] == "join-order"][:1]
    for relation in ("easier", "harder"):
        made = world.relate([ordered], relation, 5, 1)
        assert all(
            "ORDER BY" in task.reference_actions[0] or "JOIN" in task.reference_actions[0] for task in made
        )


def test_scienceworld_variants_stay_in_the_topic_of_their_parent_where_it_has_some() -> None:
    world = generator("scienceworld")
    topics = {name: kind.topic for name, kind in TYPES.items()}
    [parent] = [task for task in world.pool if task.type == "lifespan-longest-lived"][:1]
    made = world.relate([parent], "harder", 3, 1)
    assert {topics[task.type] for task in made} == {topics[parent.type]}
