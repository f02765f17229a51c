"""The gold calls of bfcl are the same calls in every spelling that is read, and score 1."""

from collections.abc import Callable
from functools import cache

import pytest
from test_bfcl_calls import SPELLINGS, TAGS

from coevolve_environments.plugins.bfcl.calls import Call, parse_calls
from coevolve_environments.plugins.bfcl.entries import CATEGORIES, Entry, argument_schemas, read_entries
from coevolve_environments.plugins.bfcl.episode import MAX_STEPS_PER_TURN, BfclEpisode
from coevolve_environments.plugins.bfcl.world import World

Spelling = Callable[[list[Call]], str]


def of_each(spelled: Callable[[Call], str]) -> Spelling:
    return lambda calls: "\n".join(map(spelled, calls))


WITH_TYPES: dict[str, Spelling] = {name: of_each(spelled) for name, spelled in TAGS.items()}
FORMS: dict[str, Spelling] = {**SPELLINGS, **WITH_TYPES}
of_parts = pytest.mark.parametrize("every", [40, pytest.param(1, marks=pytest.mark.of_all)])


@cache
def golds() -> list[tuple[Entry, list[list[Call]]]]:
    """Returns each entry's turns of gold calls, first those with a text that JSON reads as another value."""
    entries = [entry for category in CATEGORIES for entry in read_entries(category)]
    found = [(entry, named_calls(entry)) for entry in entries]
    return sorted(found, key=lambda gold: not any(has_typed_text(call) for turn in gold[1] for call in turn))


def named_calls(entry: Entry) -> list[list[Call]]:
    """Returns gold calls with all arguments named, because only Python has others."""
    world = World(entry)

    def named(call: Call) -> Call:
        given = dict(zip(world.parameters(call.name), call.positional, strict=False))
        return Call(call.name, (), {**given, **call.keyword})

    return [[named(call) for text in calls for call in parse_calls(text)] for calls in entry.answers]


def has_typed_text(call: Call) -> bool:
    [untyped] = parse_calls(TAGS["GLM's pairs"](call))
    return untyped.keyword != call.keyword


@of_parts
def test_gold_calls_are_the_same_in_every_spelling(every: int) -> None:
    for entry, turns in golds()[::every]:
        for name, spelled in FORMS.items():
            for calls in filter(None, turns):
                expected = calls[:1] if "unclosed tag" in name else calls
                found = parse_calls(spelled(calls), argument_schemas(entry))
                assert repr(found) == repr(expected), (name, entry.id)


@of_parts
@pytest.mark.parametrize("form", ["tags", *WITH_TYPES])
def test_respelled_golds_score_1(form: str, every: int) -> None:
    for entry, turns in golds()[::every]:
        episode = BfclEpisode(entry, task_id="t", split="train", max_steps_per_turn=MAX_STEPS_PER_TURN)
        episode.open()
        for calls in turns:
            if calls:
                episode.act(FORMS[form](calls))
            last = episode.act("Done.")
        assert last.reward == 1.0, (form, entry.id)
