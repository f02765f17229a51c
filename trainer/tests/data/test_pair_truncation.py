"""ETO's truncation of pairs, and the counts of truncated data in a dataset."""

from pathlib import Path
from typing import Any

import pytest

from coevolve_trainer.chat.encoder import ChatEncoder
from coevolve_trainer.data.dataset import Dataset, read_dataset
from coevolve_trainer.data.pair_truncation import truncate_pair
from job_folder import JobFolder, pair_rows, write_rows


def conversation(actions: int, *, ends_with_observation: bool = False) -> dict[str, Any]:
    """Returns a task and so many actions, with an observation after each except the last."""
    messages = [{"role": "user", "content": "task"}]
    for action in range(actions):
        messages += [{"role": "assistant", "content": str(action)}, {"role": "tool", "content": "seen"}]
    return {"messages": messages if ends_with_observation else messages[:-1]}


def recorded(actions: int) -> dict[str, Any]:
    return {"turns": [{"prompt_token_ids": [1, k], "token_ids": [7]} for k in range(actions)]}


def sizes(pair: Any) -> tuple[int, int, bool]:
    sides = [side.get("messages", side.get("turns")) for side in (pair.chosen, pair.rejected)]
    return len(sides[0]), len(sides[1]), pair.is_cut


@pytest.mark.parametrize(
    ("chosen", "rejected", "expected"),
    [
        (conversation(2), conversation(9), (4, 14, True)),  # 4 messages plus ten
        (conversation(2), conversation(7), (4, 14, False)),
        (
            conversation(2, ends_with_observation=True),
            conversation(8, ends_with_observation=True),
            (4, 14, True),
        ),
        (recorded(2), recorded(9), (2, 7, True)),
        (conversation(2), recorded(9), (4, 7, True)),
        (recorded(2), conversation(9), (2, 14, True)),
    ],
)
def test_the_rejected_side_is_truncated_to_the_chosen_sides_messages_plus_ten(
    chosen: dict[str, Any], rejected: dict[str, Any], expected: tuple[int, int, bool]
) -> None:
    assert sizes(truncate_pair(chosen, rejected)) == expected


def test_a_pair_whose_truncated_side_does_not_end_with_an_action_is_dropped() -> None:
    assert truncate_pair(conversation(2), {"messages": conversation(1)["messages"][:1]}) is None
    # With two observations after one action, the fourteenth message is an observation
    long = conversation(9)
    long["messages"].insert(2, {"role": "tool", "content": "more"})
    assert truncate_pair(conversation(2), long) is None


def read(tmp_path: Path, base: Path, rows: list[dict[str, Any]], **change: Any) -> Dataset:
    arguments = {"pairs": True, "demonstrations": True, "max_length": 512, **change}
    return read_dataset(write_rows(tmp_path / "rows.jsonl", rows), ChatEncoder.load(base), **arguments)


def test_all_truncated_data_is_counted(tmp_path: Path, base: Path) -> None:
    pair = pair_rows(1)[0]
    long = {**pair, "chosen": conversation(2), "rejected": conversation(9)}
    no_action = {**pair, "chosen": conversation(2), "rejected": {"messages": conversation(1)["messages"]}}
    no_action["rejected"]["messages"][-1] = {"role": "user", "content": "no action"}
    data = read(tmp_path, base, [pair, long, no_action], pair_truncation="eto")
    counts = data.truncation
    assert (counts.pairs_cut, counts.examples_dropped, counts.rows_cut) == (1, 1, 0)
    assert len(data.examples) == 2
    assert sum(data.examples[1].rejected[0].action_mask) == 14  # seven actions of a token and its end token

    whole = read(tmp_path, base, [pair, long])
    assert (whole.truncation.pairs_cut, whole.truncation.tokens_dropped) == (0, 0)
    rows = [row for e in whole.examples for row in (*e.chosen, *e.rejected)]
    truncated = read(tmp_path, base, [pair, long], max_length=60)
    assert truncated.truncated == sum(len(row.input_ids) > 60 for row in rows) > 0
    assert truncated.truncation.tokens_dropped == sum(max(0, len(row.input_ids) - 60) for row in rows)
    assert truncated.truncation.actions_dropped > 0


def test_an_example_without_a_remaining_action_is_dropped_and_a_dataset_without_examples_rejected(
    tmp_path: Path, base: Path
) -> None:
    late = {"messages": [{"role": "user", "content": "word " * 200}, {"role": "assistant", "content": "x"}]}
    data = read(tmp_path, base, [late, conversation(1)], max_length=100)
    assert (len(data.examples), data.truncation.examples_dropped, data.truncated) == (1, 1, 1)
    with pytest.raises(Exception, match="no action token in the first 100 tokens of 1 rows"):
        read(tmp_path, base, [late], max_length=100)


def test_a_job_reports_the_counts_of_truncated_data(tmp_path: Path, trained: Path) -> None:
    rows = [{**pair_rows(1)[0], "chosen": conversation(2), "rejected": conversation(9)}, *pair_rows(3)]
    dataset = write_rows(tmp_path / "pairs.jsonl", rows)
    settings = {"epochs": 1, "pair_truncation": "eto"}
    job = JobFolder(tmp_path / "job", method="dpo", base=trained, dataset=dataset, settings=settings)
    assert job.run() == 0
    assert job.status["truncation"] == {
        "actions": 21,
        "longest_row": 98,
        "rows_cut": 0,
        "tokens_dropped": 0,
        "actions_dropped": 0,
        "pairs_cut": 1,
        "examples_dropped": 0,
    }
