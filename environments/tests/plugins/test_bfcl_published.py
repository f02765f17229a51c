"""bfcl scores every play as the package's own checker does."""

import random
from collections.abc import Iterator

import pytest
from bfcl_eval.eval_checker.multi_turn_eval import multi_turn_utils
from bfcl_eval.eval_checker.multi_turn_eval.multi_turn_checker import multi_turn_checker

from coevolve_environments.plugins.bfcl.calls import published_calls
from coevolve_environments.plugins.bfcl.entries import CATEGORIES, Entry, read_entries
from coevolve_environments.plugins.bfcl.episode import MAX_STEPS_PER_TURN, BfclEpisode
from coevolve_environments.plugins.bfcl.literals import NotCalls
from published_bfcl import published_helpers, published_loader

Play = list[list[list[str]]]
"""Turns of steps of calls."""


def published_verdict(entry: Entry, play: Play) -> bool:
    known = set(vars(multi_turn_utils))
    entry_id = f"multi_turn_{entry.category}_{entry.number}"
    described = {"initial_config": entry.config, "involved_classes": entry.classes, "id": entry_id}
    try:
        return bool(multi_turn_checker(play, entry.answers, described, "", "model")["valid"])
    finally:
        for name in set(vars(multi_turn_utils)) - known:  # the package keeps every object forever
            delattr(multi_turn_utils, name)


def our_verdict(entry: Entry, play: Play) -> bool:
    episode = BfclEpisode(entry, task_id="t", split="train", max_steps_per_turn=MAX_STEPS_PER_TURN)
    episode.open()
    for steps in play:
        for step in steps:
            episode.act(f"[{', '.join(step)}]")
        last = episode.act("Done.")
    return last.reward == 1.0


def gold(entry: Entry) -> Play:
    return [[[call] for call in calls] for calls in entry.answers]


def perturbed(entry: Entry, others: list[str]) -> Iterator[Play]:
    """Yields gold and plays that differ from it in a turn: fewer, more, repeated, reordered, moved calls."""
    rng = random.Random(entry.id)
    yield gold(entry)
    full = [turn for turn, calls in enumerate(entry.answers) if calls]
    for turn in {*rng.sample(full, 1), *(turn for turn, calls in enumerate(entry.answers) if not calls)}:
        for steps in changed_steps(gold(entry)[turn], gold(entry)[full[0]], rng.choice(others)):
            play = gold(entry)
            play[turn] = steps
            yield play
    merged = gold(entry)
    merged[full[0]] = [[call for (call,) in merged[full[0]]]]
    yield merged
    if full[0] + 1 < len(entry.answers):
        early = gold(entry)
        early[full[0]] += early[full[0] + 1]
        early[full[0] + 1] = []
        yield early


def changed_steps(steps: list[list[str]], first: list[list[str]], other: str) -> Iterator[list[list[str]]]:
    yield steps[:-1]
    yield steps[::-1]
    yield [*steps, [other]]
    yield [*steps, ["no_such_function()"]]
    yield [*steps, *first]


def test_every_perturbed_gold_play_has_the_published_verdict() -> None:
    verdicts: dict[tuple[str, bool], int] = {}
    in_empty_turns = 0
    for category in CATEGORIES:
        entries = list(read_entries(category))
        others = [call for entry in entries for calls in entry.answers for call in calls]
        for entry in entries[:: 3 if category.startswith("miss") else 10]:
            for play in perturbed(entry, others):
                expected = published_verdict(entry, play)
                assert our_verdict(entry, play) is expected, (entry.id, play)
                verdicts[category, expected] = verdicts.get((category, expected), 0) + 1
                pairs = zip(play, entry.answers, strict=True)
                in_empty_turns += expected and any(steps and not calls for steps, calls in pairs)
    assert min(verdicts[category, verdict] for category in CATEGORIES for verdict in (True, False)) > 15
    assert in_empty_turns > 50


def test_a_call_that_changes_a_default_of_the_package_affects_no_other_attempt() -> None:
    entry = next(e for e in read_entries("miss_func") if e.number == 77)
    mention = "mention(tweet_id=10, mentioned_usernames=['@x'])"  # of a tweet whose mentions are the default
    changed = gold(entry)
    changed[2].append([mention])
    assert our_verdict(entry, gold(entry)) is True
    assert our_verdict(entry, changed) is published_verdict(entry, changed) is False
    assert our_verdict(entry, gold(entry)) is True


def test_published_prompts_go_with_its_reading_of_arguments() -> None:
    entry = next(read_entries("base"))
    episode = BfclEpisode(entry, task_id="t", split="train", max_steps_per_turn=20, published_prompts=True)
    assert "missing 1 required positional argument" in episode.act("[cd('document')]").messages[0]["content"]
    assert "document" in episode.act("[cd(folder='document')]").messages[0]["content"]


@pytest.mark.parametrize("category", CATEGORIES)
def test_published_prompts_are_those_of_the_published_evaluation(category: str) -> None:
    helpers = published_helpers()
    entries = {entry.id: entry for entry in read_entries(category)}
    for row in published_loader().load_dataset_entry(f"multi_turn_{category}")[::20]:
        expected = [
            helpers.system_prompt_pre_processing_chat_model(row["question"][0], row["function"], row["id"])
        ]
        expected += row["question"][1:]
        for turn, functions in row.get("missed_function", {}).items():
            text = helpers.DEFAULT_USER_PROMPT_FOR_ADDITIONAL_FUNCTION_PROMPTING.format(functions=functions)
            expected[int(turn)] = [{"role": "user", "content": text}]

        episode = BfclEpisode(
            entries[row["id"]], task_id="t", split="train", max_steps_per_turn=20, published_prompts=True
        )
        shown = [episode.open(), *(episode.act("Done.") for _ in expected[1:])]
        assert [observation.messages for observation in shown] == expected
        assert all(observation.tools is None for observation in shown)


SINGLE = (
    "cd(folder='a')",
    "sort('a')",
    "f(on=true)",
    "f(to=home)",
    "f(n=-2, of=[1, {'k': 'v'}])",
    "say(text=f(a=1))",
)
WRITTEN = (
    *SINGLE,
    *(f"[{text}]" for text in SINGLE),
    "[cd(folder='a'), ls()]",
    "cd(folder='a'), ls()",
    "```\n[cd(folder='a')]\n```",
    "```python\n[cd(folder='a')]\n```",
    "'[cd(folder=\"a\")]'",
    "[cd(folder='a')]\n\nThis opens the folder.",
    "I open it: [cd(folder='a')]",
    "- cd(folder='a')\n- ls()",
    "cd(folder='a')\nls()",
    "print(cd(folder='a'))",
    "r = cd(folder='a')",
    '<tool_call>{"name": "cd", "arguments": {"folder": "a"}}</tool_call>',
    '[{"name": "cd", "arguments": {"folder": "a"}}]',
    "Done.",
    "[]",
    "",
)


@pytest.mark.parametrize("text", WRITTEN)
def test_strict_reads_what_the_published_decoder_reads(text: str) -> None:
    decode = published_helpers().default_decode_execute_prompting
    try:
        published = decode(text)
    except Exception:
        published = []  # its handler ends the turn
    try:
        found = list(map(repr, published_calls(text)))
    except NotCalls:
        found = []
    assert found == published


def test_a_strict_task_counts_no_other_spelling() -> None:
    entry = next(read_entries("base"))
    play = ["I open it: [cd(folder='document')]", "[cd(folder='document')]"]
    shown = []
    for strict in (False, True):
        episode = BfclEpisode(entry, task_id="t", split="train", max_steps_per_turn=20, strict=strict)
        episode.open()
        shown.append([episode.act(text).messages[0]["role"] for text in play])
    assert shown == [["tool", "tool"], ["user", "tool"]]
