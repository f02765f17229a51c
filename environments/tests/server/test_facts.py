"""The facts that a composed task checks, in made-up worlds of a few facts."""

from collections import Counter
from collections.abc import Sequence

from coevolve_environments.server.facts import Facts, Goal, Played, goal_of
from coevolve_environments.server.request_words import Request
from coevolve_environments.world_state import AGENT, AT, IN, Fact

WORDS = {IN: ("put",), AT: ("go",), AGENT: ("take",), "open": ("open", "close"), "lit": ("light",)}
BALL_ON_FLOOR: Fact = ("ball 1", IN, "floor")
BALL_IN_BOX: Fact = ("ball 1", IN, "box 2")
CLOSED: Fact = ("box 2", "open", "no")
OPEN: Fact = ("box 2", "open", "yes")
LIT: Fact = ("lamp", "lit", "yes")


def facts(*stated: Fact) -> Facts:
    return Counter(stated)


START = facts(BALL_ON_FLOOR, CLOSED)


def goal(
    text: str, steps: Sequence[Facts], *, without: Facts | None = None, question: bool = False, **more: Facts
) -> Goal:
    return goal_of(
        Request(text, WORDS),
        Played([START, *steps]),
        [more.get("other", steps[-1])],
        [more.get("idle", START)],
        lambda _: START if without is None else without,
        is_question=question,
    )


PUT = [facts(BALL_ON_FLOOR, OPEN), facts(BALL_IN_BOX, OPEN)]


def test_the_means_are_left_out_unless_the_request_demands_them() -> None:
    assert goal("Put the ball into the box.", PUT).at_least == {("ball", IN, "box"): 1}
    both = goal("Open the box and put the ball into it.", PUT, without=facts(BALL_ON_FLOOR, CLOSED))
    assert set(both.at_least) == {("ball", IN, "box"), ("box", "open", "yes")}
    free = goal("Put the ball into the box.", PUT, without=facts(BALL_IN_BOX, CLOSED))
    assert set(free.at_least) == {("ball", IN, "box"), ("box", "open", "yes")}  # no means: both are purposes


def test_a_number_is_asked_for_only_where_the_request_has_one() -> None:
    named = goal("Put ball 1 into box 2.", PUT)
    assert set(named.at_least) == {BALL_IN_BOX}
    assert not named.holds(facts(("ball 7", IN, "box 2")))
    assert goal("Put a ball into a box.", PUT).holds(facts(("ball 7", IN, "box 3"), LIT))


def test_what_the_request_does_not_mention_is_left_out_where_it_mentions_something() -> None:
    lit = [facts(BALL_ON_FLOOR, CLOSED, LIT), facts(BALL_ON_FLOOR, OPEN, LIT)]
    apart = facts(BALL_ON_FLOOR, OPEN)
    assert set(goal("Open the box.", lit, without=apart).at_least) == {("box", "open", "yes")}
    assert len(goal("Do as you did yesterday.", lit, without=apart).at_least) == 2


def test_what_waiting_does_and_what_a_look_undoes_is_no_goal() -> None:
    changed = [facts(BALL_ON_FLOOR, CLOSED, LIT)]
    assert not goal("Light the lamp.", changed, idle=facts(BALL_ON_FLOOR, CLOSED, LIT))
    assert not goal("Light the lamp.", changed, other=START)
    assert goal("Light the lamp.", changed)


def test_a_question_keeps_only_what_it_demands() -> None:
    assert not goal("What is in the box?", PUT, question=True)
    assert set(goal("Open the box. What is in it?", PUT, question=True).at_least) == {("box", "open", "yes")}


def test_the_place_of_the_agent_counts_where_the_request_sends_it_there() -> None:
    gone = [facts(BALL_ON_FLOOR, CLOSED, (AGENT, AT, "hall"))]
    assert set(goal("Go back to the hall.", gone).at_least) == {(AGENT, AT, "hall")}
    assert not goal("Look for the hall.", gone)


def test_a_door_that_is_closed_again_must_be_closed_where_the_request_says_so() -> None:
    words = {**WORDS, "open no": ("close",)}
    steps = [START, *PUT, facts(BALL_IN_BOX, CLOSED)]

    def of(text: str) -> set[Fact]:
        request = Request(text, words)
        made = goal_of(request, Played(steps), [steps[-1]], [START], lambda _: START, is_question=False)
        return set(made.at_least)

    assert of("Put the ball into the box and close the box.") == {("ball", IN, "box"), CLOSED}
    assert of("Put the ball into the box.") == {("ball", IN, "box")}


def test_a_thing_that_is_used_up_must_be_gone() -> None:
    eaten = goal("Take the ball and eat it.", [facts(CLOSED)])
    assert (eaten.holds(facts(CLOSED)), eaten.holds(START)) == (True, False)
    assert Goal.from_json(eaten.as_json()) == eaten


def test_an_exact_goal_allows_no_other_change() -> None:
    exact = Goal(dict(facts(LIT)), exact=True)
    assert (exact.holds(facts(LIT)), exact.holds(facts(LIT, OPEN))) == (True, False)
