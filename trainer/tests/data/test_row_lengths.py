"""The lengths measured before a campaign are those of the rows that the trainer then makes."""

from __future__ import annotations

from pathlib import Path

import pytest

from coevolve_trainer.chat.encoder import ChatEncoder
from coevolve_trainer.data.dataset import read_dataset
from coevolve_trainer.data.row_lengths import row_lengths
from coevolve_trainer.failures import JobFailure
from job_folder import write_rows

TRAJECTORIES = [
    {
        "messages": [
            {"role": "user", "content": f"open door {number}"},
            {"role": "assistant", "content": "turn the handle\nand push"},
            {"role": "user", "content": "it is locked"},
            {"role": "assistant", "content": f"use key {number}"},
            {"role": "user", "content": "it opens"},
        ]
    }
    for number in range(9)
]


@pytest.mark.parametrize("cut", [0, 1])
def test_a_row_keeps_an_action_exactly_if_it_is_cut_behind_its_end(
    tmp_path: Path, base: Path, cut: int
) -> None:
    lengths = row_lengths({"policy": str(base), "trajectories": TRAJECTORIES[:1]})[0]
    ends = lengths["actionEnds"]
    assert isinstance(ends, list)
    assert len(ends) == 2
    rows = write_rows(tmp_path / "rows.jsonl", TRAJECTORIES[:1])
    data = read_dataset(
        rows, ChatEncoder.load(base), pairs=False, demonstrations=True, max_length=ends[1] - cut
    )
    assert data.truncation.longest_row == lengths["tokens"]
    assert (data.truncation.actions, data.truncation.actions_dropped) == (2, cut)
    assert sum(data.examples[0].chosen[0].action_mask) == sum(lengths["actionTokens"]) - cut  # type: ignore[call-overload]


def test_without_a_policy_the_tokenizer_is_trained_on_the_trajectories() -> None:
    small, large = (
        row_lengths({"policy": None, "vocabulary_size": size, "trajectories": TRAJECTORIES})
        for size in (300, 768)
    )
    assert all(a["tokens"] > b["tokens"] for a, b in zip(small, large, strict=True))  # type: ignore[operator]


def test_a_trajectory_without_messages_is_named() -> None:
    with pytest.raises(JobFailure, match=r"trajectories\.1\.messages"):
        row_lengths(
            {"policy": None, "vocabulary_size": 300, "trajectories": [TRAJECTORIES[0], {"messages": []}]}
        )
