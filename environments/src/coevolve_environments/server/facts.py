"""The facts that a composed task checks: changes by its reference that its request is about."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from coevolve_environments.protocol import Json
from coevolve_environments.server.request_words import Request, kind_of
from coevolve_environments.world_state import AT, IN, Fact

Facts = Counter[Fact]


@dataclass(frozen=True)
class Played:
    """An episode of the reference actions, or of some of them, with others between them."""

    steps: Sequence[Facts]
    """Before the first action and after each one; the last one only if no more are needed."""

    @property
    def end(self) -> Facts:
        return self.steps[-1]


@dataclass(frozen=True)
class Goal:
    """Bounds of the numbers of facts in a world at the end of an attempt."""

    at_least: Mapping[Fact, int] = field(default_factory=dict)
    at_most: Mapping[Fact, int] = field(default_factory=dict)
    """Of facts that must have gone."""
    exact: bool = False
    """No other facts may be there."""

    def __bool__(self) -> bool:
        return bool(self.at_least or self.at_most)

    def holds(self, facts: Facts) -> bool:
        if self.exact:
            return facts == Counter(self.at_least)
        return all(number(fact, facts) >= n for fact, n in self.at_least.items()) and all(
            number(fact, facts) <= n for fact, n in self.at_most.items()
        )

    def as_json(self) -> Json:
        return {
            "at_least": [[*fact, n] for fact, n in sorted(self.at_least.items())],
            "at_most": [[*fact, n] for fact, n in sorted(self.at_most.items())],
            "exact": self.exact,
        }

    @classmethod
    def from_json(cls, value: Json) -> "Goal":
        """
        Raises:
            ValueError, TypeError, KeyError: the value is no goal.
        """
        at_least, at_most = (
            {(str(s), str(r), str(v)): int(n) for s, r, v, n in value[name]}
            for name in ("at_least", "at_most")
        )
        return cls(at_least, at_most, value["exact"] is True)


def number(fact: Fact, facts: Facts) -> int:
    """Returns how often a fact holds. A name without a number, such as `apple`, stands for every apple."""
    if fact in facts:
        return facts[fact]
    subject, relation, value = fact
    return sum(
        n
        for (s, r, v), n in facts.items()
        if r == relation and subject in (s, kind_of(s)) and value in (v, kind_of(v))
    )


def goal_of(
    request: Request,
    played: Played,
    others: Sequence[Facts],
    idle: Sequence[Facts],
    without: Callable[[int], Facts] | None,
    *,
    is_question: bool,
) -> Goal:
    """Returns the changes by the reference that the request is about; an empty goal if there are none.

    Four kinds are left out: changes that come with waiting alone, changes that looks or waits between the
    actions undo, means to a later change or to an answer, and changes that the request does not mention while
    it mentions others.

    Args:
        played: the reference.
        others: ends of the reference with looks and waits.
        idle: facts of an episode that only looks and waits, from its start.
        without: plays the reference without the action of this index; None keeps the means.
    """
    ends = [played.end, *others]
    start = played.steps[0]
    added = {
        fact: n
        for fact in (_as_named(found, request, played.end, idle) for found in played.end)
        if (n := min(number(fact, end) for end in ends))
        > max(number(fact, facts) for facts in [start, *idle])
    }
    added |= {
        fact: min(end[fact] for end in ends)
        for fact in start  # restored by the actions, as a door that they open and close
        if not all(fact in step for step in played.steps)
        and all(fact in end for end in ends)
        and request.demands_end(fact)
    }
    gone = {
        fact: n
        for fact in start
        if (n := max(number(fact, end) for end in ends))
        < min(number(fact, facts) for facts in [start, *idle])
    }
    changed = _nearest(request, added, gone)
    if without is not None:
        changed -= _means(request, played.steps, changed, Goal(added, gone), without)
    if is_question:
        changed = {fact for fact in changed if fact[1] != AT and request.demands(fact)}
    changed = {fact for fact in changed if fact[1] != AT or request.demands(fact)}
    mentioned = {fact for fact in changed if request.is_about(fact)}
    kept = mentioned or changed
    return Goal(
        {fact: n for fact, n in added.items() if fact in kept},
        {fact: n for fact, n in gone.items() if fact in kept and fact not in added},
    )


def _as_named(fact: Fact, request: Request, end: Facts, idle: Sequence[Facts]) -> Fact:
    """Returns the fact with names without numbers where the request gives none, if that is a change too."""
    subject, relation, value = fact
    general = (
        subject if request.numbers(subject) else kind_of(subject),
        relation,
        value if request.numbers(value) else kind_of(value),
    )
    return general if number(general, end) > max(number(general, facts) for facts in idle) else fact


def _nearest(request: Request, added: Mapping[Fact, int], gone: Mapping[Fact, int]) -> set[Fact]:
    """Returns the changes with one place for each thing: the innermost one that the request names.

    The facts of a thing stand in the order of its places, from the innermost one.
    """
    chosen = {fact for fact in added if fact[1] != IN}
    moved = {fact[0] for fact in added if fact[1] == IN}
    for subject in moved:
        places = [fact for fact in added if fact[:2] == (subject, IN)]
        left = [fact for fact in gone if kind_of(fact[0]) == kind_of(subject) and fact[1] == IN]
        named = [fact for fact in places if request.names(fact[2])] or [
            fact for fact in left if request.names(fact[2])
        ]
        chosen.add((named or places)[0])
    replaced = {(kind_of(subject), relation) for subject, relation, _ in added}
    lost: dict[tuple[str, str], list[Fact]] = {}
    for fact in gone:
        if (kind_of(fact[0]), fact[1]) not in replaced:
            lost.setdefault(fact[:2], []).append(fact)
    for facts in lost.values():
        named = [fact for fact in facts if request.names(fact[2])]
        chosen.add((named or facts)[0])
    return chosen


_MAX_ABLATIONS = 12


def _means(
    request: Request,
    steps: Sequence[Facts],
    changed: Collection[Fact],
    bounds: Goal,
    without: Callable[[int], Facts],
) -> set[Fact]:
    """Returns the changes without whose action a later change fails, unless the request demands them."""

    def holds(fact: Fact, facts: Facts) -> bool:
        least = bounds.at_least.get(fact)
        return (
            number(fact, facts) >= least if least is not None else number(fact, facts) <= bounds.at_most[fact]
        )

    def appears(fact: Fact) -> int:
        missing = [n for n, facts in enumerate(steps) if not holds(fact, facts)]
        return missing[-1] if missing else 0

    actions = {fact: appears(fact) for fact in changed}
    asked = [fact for fact in changed if fact[1] == AT or not request.demands(fact)]
    candidates = sorted({actions[fact] for fact in asked if actions[fact] < max(actions.values())})
    means: set[Fact] = set()
    for action in candidates[:_MAX_ABLATIONS]:
        left = without(action)
        if any(actions[fact] > action and not holds(fact, left) for fact in changed):
            means |= {fact for fact in asked if actions[fact] == action}
    return means
