"""Wrong RL jobs and batches, and the messages with which they are rejected."""

import re
from pathlib import Path
from typing import Any

import pytest

from coevolve_trainer.failures import EXIT_CODES
from job_folder import rl_job, write_rows
from sampled_rollouts import Rows

TURN = {"prompt_token_ids": [1, 5], "token_ids": [7, 8], "logprobs": [-1.0, -2.0]}
ROW = {"trajectory_id": "t", "group": "g", "advantage": 1.0, "reward": 1.0, "turns": [TURN]}
REJECTED_ROWS: list[tuple[str, list[dict[str, Any]], str]] = [
    ("grpo", [ROW, {**ROW, "trajectory_id": "u", "turns": [{**TURN, "logprobs": None}]}],
     r"batch 1 line 2.turns\[0\].logprobs: found nothing, expected 2 finite numbers, one for each of"),
    ("grpo", [{**ROW, "turns": [{**TURN, "logprobs": [-1.0]}]}],
     r"line 1.turns\[0\].logprobs: found a list of 1"),
    ("grpo", [{**ROW, "turns": [{**TURN, "logprobs": [-1, "-2"]}]}],
     r"logprobs: found a list of 2, expected 2 finite numbers"),
    ("grpo", [{**ROW, "turns": [{**TURN, "token_ids": [7, 10**6]}]}],
     r"batch 1 line 1.turns\[0\].token_ids: found a list of 2, expected a list of ids below \d+"),
    ("grpo", [{**ROW, "turns": "none"}], "batch 1 line 1.turns: found str, expected a list"),
    ("grpo", [{**ROW, "turns": []}], "no action token"),
    ("grpo", [{**ROW, "group": ""}], "batch 1 line 1.group: found '', expected a non-empty string"),
    ("grpo", [{**ROW, "advantage": None}], "batch 1 line 1.advantage: found None, expected a finite number"),
    ("grpo", [{**ROW, "advantage": float("nan")}], "batch 1 line 1.advantage: found nan"),
    ("ppo", [{**ROW, "reward": 1.5}], "batch 1 line 1.reward: found 1.5, expected a number from 0 to 1"),
    ("grpo", [ROW, ROW], "batch 1 line 2.trajectory_id: found 't', expected an id of no earlier line"),
    ("grpo", [], "batch 1: found no row in .*, expected at least one"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "rows", "message"), REJECTED_ROWS)
def test_a_wrong_batch_is_rejected_with_line_and_field(
    method: str, rows: list[dict[str, Any]], message: str, tmp_path: Path, base: Path
) -> None:
    job = rl_job(tmp_path / "job", base, method=method)
    job.submit(1, rows)
    assert job.run() == EXIT_CODES["bad-input"]
    assert re.search(message, job.failure["message"]), job.failure["message"]


def test_a_batch_with_another_hash_and_a_replaced_batch_are_rejected(
    tmp_path: Path, trained: Path, batches: list[Rows]
) -> None:
    job = rl_job(tmp_path / "job", trained, settings={"idle_timeout_s": 0.01})
    job.submit(1, batches[0])
    assert job.run() == EXIT_CODES["cancelled"]  # there is no second batch
    job.submit(2, batches[1])
    write_rows(job.folder / "rows-2.jsonl", batches[2])
    assert job.run() == EXIT_CODES["bad-input"]
    assert re.search(r"batch 2: dataset_sha256: found \w{64}, expected \w{64}", job.failure["message"])
    job.submit(1, batches[3])
    assert job.run() == EXIT_CODES["bad-input"]
    assert "the batch of update 1" in job.failure["message"]


REJECTED_JOBS: list[tuple[dict[str, Any], str]] = [
    ({"steps": 0}, "steps: found 0, expected an integer of at least 1"),
    ({"steps": None}, "steps: found None, expected an integer of at least 1"),
    ({"dataset": "/rows.jsonl"}, "dataset: found '/rows.jsonl', expected nothing: grpo has no dataset"),
    ({"dataset_sha256": "0"}, "dataset_sha256: found '0', expected nothing: grpo has no dataset"),
    ({"trainer_state": "/state", "trainer_state_sha256": "0"}, "trainer_state: found no file /state"),
    ({"trainer_state": "/state"}, "trainer_state_sha256: found None, expected a non-empty string"),
    ({"method": "sft"}, "dataset: found None, expected a non-empty string"),
    ({"settings": {"batch_size": 2}}, "settings.batch_size: found an unknown setting"),
    (
        {"settings": {"aggregation": "token"}},
        "settings.aggregation: found 'token', expected one of group, attempt, batch",
    ),
]


@pytest.mark.parametrize(("change", "message"), REJECTED_JOBS)
def test_a_wrong_rl_job_is_rejected_with_the_field(
    change: dict[str, Any], message: str, tmp_path: Path, base: Path
) -> None:
    job = rl_job(tmp_path / "job", base)
    job.change(**change)
    assert job.run() == EXIT_CODES["bad-input"]
    assert message in job.failure["message"]


def test_a_loss_that_is_not_finite_fails_as_diverged_with_the_update(tmp_path: Path, trained: Path) -> None:
    row = {**ROW, "turns": [{**TURN, "logprobs": [-200.0, -1.0]}], "advantage": -1.0}
    job = rl_job(tmp_path / "job", trained)
    job.submit(1, [row])
    assert job.run() == EXIT_CODES["diverged"]
    assert re.search("update 1: loss (inf|nan), gradient norm", job.failure["message"])
    assert not list((job.folder / "checkpoints").iterdir())
