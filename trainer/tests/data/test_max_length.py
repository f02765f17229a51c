"""Rows are as long as the base's positions, and longer ones are counted losses."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from coevolve_trainer.chat.encoder import ChatEncoder
from coevolve_trainer.data.dataset import read_job_dataset
from coevolve_trainer.data.rollout_batch import RolloutBatch, read_rollouts
from coevolve_trainer.data.segments import TruncationCounts
from coevolve_trainer.failures import JobFailure
from coevolve_trainer.job import Job, read_job
from coevolve_trainer.settings import SftSettings
from job_folder import write_rows

TURNS, PROMPT_TOKENS, ACTION_TOKENS = 30, 73, 60


def long_episode() -> list[dict[str, Any]]:
    """Thirty turns of 133 tokens, 3,990 in all."""
    turns, context = [], list[int]()
    for turn in range(TURNS):
        context = [*context, *(5 + (turn + i) % 50 for i in range(PROMPT_TOKENS))]
        action = [5 + (turn * i) % 50 for i in range(ACTION_TOKENS)]
        logprobs = [-0.5] * ACTION_TOKENS
        turns.append({"prompt_token_ids": context, "token_ids": action, "logprobs": logprobs})
        context = [*context, *action]
    return turns


@pytest.fixture
def long_base(tmp_path: Path, base: Path) -> Path:
    """A policy of 8,192 positions."""
    folder = tmp_path / "base"
    shutil.copytree(base, folder)
    config = json.loads((folder / "config.json").read_bytes())
    (folder / "config.json").write_text(json.dumps({**config, "max_position_embeddings": 8192}))
    return folder


def job_of(folder: Path, base: Path, dataset: Path, settings: dict[str, object]) -> Job:
    job = {"job_key": "job", "method": "sft", "dataset": str(dataset), "dataset_sha256": "0" * 64, "seed": 1}
    places = {"output": str(folder / "policy"), "base": str(base), "base_hash": "0" * 64}
    (folder / "job.json").write_text(json.dumps({**job, **places, "settings": settings}))
    return read_job(folder)


def read_batch(path: Path, rows: list[dict[str, Any]], base: Path, max_length: int) -> RolloutBatch:
    return read_rollouts(
        write_rows(path / "batch.jsonl", rows),
        ChatEncoder.load(base),
        name="batch 1",
        score="advantage",
        max_length=max_length,
    )


@pytest.mark.parametrize("settings", [{}, {"max_length": None}])
def test_every_action_token_of_an_episode_of_thirty_turns_is_trained_on(
    tmp_path: Path, long_base: Path, settings: dict[str, object]
) -> None:
    row = {"trajectory_id": "t", "group": "g", "advantage": 1.0, "turns": long_episode()}
    job = job_of(tmp_path, long_base, write_rows(tmp_path / "rows.jsonl", [row]), settings)
    assert isinstance(job.settings, SftSettings)
    data = read_job_dataset(job, job.settings)
    whole = TruncationCounts(actions=TURNS, longest_row=3_990)
    assert (data.tokens, data.truncation) == (3_990, whole)
    assert sum(data.examples[0].chosen[0].action_mask) == TURNS * ACTION_TOKENS
    batch = read_batch(tmp_path, [row], long_base, job.max_length)
    assert (len(batch.old_logp), batch.truncation) == (TURNS * ACTION_TOKENS, whole)


def test_a_setting_and_the_positions_of_a_small_policy_limit_rows(tmp_path: Path, base: Path) -> None:
    rows = write_rows(tmp_path / "rows.jsonl", [{"turns": long_episode()}])
    positions = json.loads((base / "config.json").read_bytes())["max_position_embeddings"]
    assert job_of(tmp_path, base, rows, {}).max_length == positions
    job = job_of(tmp_path, base, rows, {"max_length": 512})
    assert isinstance(job.settings, SftSettings)
    counts = read_job_dataset(job, job.settings).truncation
    # 512 tokens hold three whole turns and the fourth action up to its 40th token
    lost = {"rows_cut": 1, "tokens_dropped": 3_990 - 512, "actions_dropped": 27}
    assert counts == TruncationCounts(actions=30, longest_row=3_990, **lost)


@pytest.mark.parametrize("max_length", [8, 512, 3_900])
def test_a_job_that_would_lose_more_actions_than_it_may_fails_before_its_first_update(
    tmp_path: Path, base: Path, max_length: int
) -> None:
    rows = write_rows(tmp_path / "rows.jsonl", [{"turns": long_episode()}])

    def read(max_lost: float) -> TruncationCounts:
        settings: dict[str, object] = {"max_length": max_length, "max_lost_actions": max_lost}
        job = job_of(tmp_path, base, rows, settings)
        assert isinstance(job.settings, SftSettings)
        return read_job_dataset(job, job.settings).truncation

    lost = {8: 30, 512: 27, 3_900: 1}[max_length]
    with pytest.raises(
        JobFailure, match=f"dataset: found {lost} of 30 actions .* the longest row: 3990 tokens"
    ) as raised:
        read(lost / 30 - 0.01)
    assert raised.value.type == "lost-actions"
    if lost < 30:
        assert read(lost / 30).actions_dropped == lost


def test_the_bound_on_lost_actions_determines_no_policy(tmp_path: Path, base: Path) -> None:
    rows = write_rows(tmp_path / "rows.jsonl", [{"turns": long_episode()}])
    keys = {
        job_of(tmp_path, base, rows, {"max_lost_actions": bound}).checkpoint_key()
        for bound in (None, 0.1, 1.0)
    }
    assert len(keys) == 1


def test_a_rollout_with_a_prompt_beyond_the_limit_is_a_counted_loss_of_its_batch(
    tmp_path: Path, base: Path
) -> None:
    turn = {"prompt_token_ids": [5] * 600, "token_ids": [6, 7], "logprobs": [-1.0, -1.0]}
    row = {"trajectory_id": "long", "group": "g", "advantage": 1.0, "turns": [turn]}
    short = {**row, "trajectory_id": "short", "turns": [{**turn, "prompt_token_ids": [5] * 6}]}
    batch = read_batch(tmp_path, [row, short], base, 512)
    assert (len(batch.score), len(batch.old_logp)) == (1, 2)
    assert batch.truncation == TruncationCounts(
        actions=2, longest_row=602, rows_cut=1, tokens_dropped=602, actions_dropped=1, examples_dropped=1
    )
    with pytest.raises(JobFailure, match="no action token in the first 512 tokens of 1 rollouts"):
        read_batch(tmp_path, [row], base, 512)
