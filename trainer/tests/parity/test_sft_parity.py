"""SFT: losses, gradients and weights equal TRL's SFTTrainer to 1e-5."""

from pathlib import Path

import pytest

from job_folder import expert_rows, write_rows
from our_run import run_ours
from run_comparison import assert_equal_runs
from token_rows import random_pairs, sft_file
from trl_run import labeled, run_sft


@pytest.mark.parametrize("padded", [True, False], ids=["padded rows", "rows of one length"])
def test_training_on_token_rows_equals_trl(padded: bool, base: Path, tmp_path: Path) -> None:
    rows = [chosen for chosen, _ in random_pairs(6, vocabulary=300, padded=padded)]
    ours = run_ours(tmp_path / "ours", "sft", sft_file(tmp_path / "rows.jsonl", rows), base)
    theirs = run_sft(base, [labeled(row) for row in rows], tmp_path / "trl")
    assert_equal_runs(ours, theirs)


def test_training_on_conversations_equals_trl_with_our_chat_template(base: Path, tmp_path: Path) -> None:
    """TRL's mask comes from the template's `{% generation %}` blocks, ours from the encoder."""
    conversations = expert_rows(6)
    ours = run_ours(tmp_path / "ours", "sft", write_rows(tmp_path / "rows.jsonl", conversations), base)
    messages = [{"messages": row["messages"]} for row in conversations]
    theirs = run_sft(base, messages, tmp_path / "trl", assistant_only_loss=True)
    assert_equal_runs(ours, theirs)
