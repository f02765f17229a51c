"""ETO's rule for pairs, and what reading a dataset says of everything that it cut."""

import json
from pathlib import Path
from typing import Any

import pytest

from coevolve_trainer.chat.encoder import ChatEncoder
from coevolve_trainer.data.dataset import Dataset, read_dataset
from coevolve_trainer.data.pair_truncation import truncate_pair
from job_folder import pair_rows, write_rows


def talk(actions: int, *, ends_with_answer: bool = False) -> dict[str, Any]:
    """Instruction, then as many actions, each but the last followed by an answer."""
    turns = [{"role": "user", "content": "task"}]
    for action in range(actions):
        turns += [{"role": "assistant", "content": str(action)}, {"role": "tool", "content": "seen"}]
    return {"messages": turns if ends_with_answer else turns[:-1]}


def steps(actions: int) -> dict[str, Any]:
    return {"steps": [{"prompt_token_ids": [1, k], "token_ids": [7]} for k in range(actions)]}


def sizes(pair: Any) -> tuple[int, int, bool]:
    sides = [side.get("messages", side.get("steps")) for side in (pair.chosen, pair.rejected)]
    return len(sides[0]), len(sides[1]), pair.is_cut


@pytest.mark.parametrize(
    ("chosen", "rejected", "expected"),
    [
        (talk(2), talk(9), (4, 14, True)),  # 4 messages and ten more
        (talk(2), talk(7), (4, 14, False)),
        (talk(2, ends_with_answer=True), talk(8, ends_with_answer=True), (4, 14, True)),
        (steps(2), steps(9), (2, 7, True)),
        (talk(2), steps(9), (4, 7, True)),
        (steps(2), talk(9), (2, 14, True)),
    ],
)
def test_the_rejected_side_is_cut_to_the_chosen_ones_messages_and_ten_more(
    chosen: dict[str, Any], rejected: dict[str, Any], expected: tuple[int, int, bool]
) -> None:
    assert sizes(truncate_pair(chosen, rejected)) == expected


def test_a_pair_of_which_a_side_does_not_end_on_an_action_is_dropped() -> None:
    assert truncate_pair(talk(2), {"messages": talk(1)["messages"][:1]}) is None
    # Two answers to one action: the fourteenth message is an answer
    long = talk(9)
    long["messages"].insert(2, {"role": "tool", "content": "more"})
    assert truncate_pair(talk(2), long) is None


def read(tmp_path: Path, base: Path, rows: list[dict[str, Any]], **change: Any) -> Dataset:
    arguments = {"pairs": True, "demonstrations": True, "max_length": 512, **change}
    return read_dataset(write_rows(tmp_path / "rows.jsonl", rows), ChatEncoder.load(base), **arguments)


def test_everything_that_is_cut_is_counted(tmp_path: Path, base: Path) -> None:
    pair = pair_rows(1)[0]
    long = {**pair, "chosen": talk(2), "rejected": talk(9)}
    silent = {**pair, "chosen": talk(2), "rejected": {"messages": talk(1)["messages"]}}
    silent["rejected"]["messages"][-1] = {"role": "user", "content": "no action"}
    data = read(tmp_path, base, [pair, long, silent], pair_truncation="eto")
    lost = data.truncation
    assert (lost.pairs_cut, lost.examples_dropped, lost.rows_cut) == (1, 1, 0)
    assert len(data.examples) == 2
    assert sum(data.examples[1].rejected[0].action_mask) == 14  # seven actions of a token and its end

    whole = read(tmp_path, base, [pair, long])
    assert (whole.truncation.pairs_cut, whole.truncation.tokens_dropped) == (0, 0)
    rows = [row for e in whole.examples for row in (*e.chosen, *e.rejected)]
    cut = read(tmp_path, base, [pair, long], max_length=60)
    assert cut.truncated == sum(len(row.input_ids) > 60 for row in rows) > 0
    assert cut.truncation.tokens_dropped == sum(max(0, len(row.input_ids) - 60) for row in rows)
    assert cut.truncation.actions_dropped > 0


def test_an_example_whose_actions_are_all_cut_is_dropped_unless_none_is_left(
    tmp_path: Path, base: Path
) -> None:
    late = {"messages": [{"role": "user", "content": "word " * 200}, {"role": "assistant", "content": "x"}]}
    data = read(tmp_path, base, [late, talk(1)], max_length=100)
    assert (len(data.examples), data.truncation.examples_dropped, data.truncated) == (1, 1, 1)
    with pytest.raises(Exception, match="no action token in the first 100 tokens of 1 rows"):
        read(tmp_path, base, [late], max_length=100)


def test_a_job_tells_what_was_cut(tmp_path: Path, workshop: Path, trained: Path) -> None:
    from job_folder import JobFolder

    rows = [{**pair_rows(1)[0], "chosen": talk(2), "rejected": talk(9)}, *pair_rows(3)]
    dataset = write_rows(tmp_path / "pairs.jsonl", rows)
    settings = {"epochs": 1, "pair_truncation": "eto"}
    job = JobFolder(tmp_path / "job", method="dpo", base=trained, dataset=dataset, settings=settings)
    assert job.run() == 0
    told = json.loads((job.folder / "status.json").read_text())["truncation"]
    assert told == {
        "rows_cut": 0,
        "tokens_dropped": 0,
        "actions_dropped": 0,
        "pairs_cut": 1,
        "examples_dropped": 0,
    }
