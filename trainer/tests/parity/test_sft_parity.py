"""SFT: loss, gradient and three AdamW updates equal TRL's SFTTrainer to 1e-5 in float32."""

from pathlib import Path

import pytest

from job_folder import expert_rows, write_rows
from our_run import run_ours
from token_rows import made_up_pairs, sft_file
from trl_run import labelled, run_sft
from watched_run import assert_equal_runs


@pytest.mark.parametrize("padded", [True, False], ids=["padded rows", "rows of one length"])
def test_token_rows_train_as_trl_trains_them(padded: bool, base: Path, tmp_path: Path) -> None:
    rows = [chosen for chosen, _ in made_up_pairs(6, vocabulary=300, padded=padded)]
    ours = run_ours(tmp_path / "ours", "sft", sft_file(tmp_path / "rows.jsonl", rows), base)
    theirs = run_sft(base, [labelled(row) for row in rows], tmp_path / "trl")
    assert_equal_runs(ours, theirs)


def test_conversations_train_as_trl_trains_them_by_our_chat_template(base: Path, tmp_path: Path) -> None:
    """TRL masks by the `{% generation %}` blocks of the policy's template, ours by its own encoding."""
    conversations = expert_rows(6)
    ours = run_ours(tmp_path / "ours", "sft", write_rows(tmp_path / "rows.jsonl", conversations), base)
    messages = [{"messages": row["messages"]} for row in conversations]
    theirs = run_sft(base, messages, tmp_path / "trl", assistant_only_loss=True)
    assert_equal_runs(ours, theirs)
