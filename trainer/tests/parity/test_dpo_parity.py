"""DPO over actions: loss, gradient and three AdamW updates equal TRL's DPOTrainer to 1e-5 in float32."""

from pathlib import Path

import pytest

from our_run import run_ours
from token_rows import made_up_pairs, pair_file
from trl_run import run_dpo
from watched_run import assert_equal_runs


@pytest.mark.parametrize("padded", [True, False], ids=["padded rows", "rows of one length"])
@pytest.mark.parametrize("beta", [0.1, 0.5])
def test_pairs_train_as_trl_trains_them(padded: bool, beta: float, base: Path, tmp_path: Path) -> None:
    pairs = made_up_pairs(5, vocabulary=300, padded=padded)
    ours = run_ours(tmp_path / "ours", "dpo", pair_file(tmp_path / "pairs.jsonl", pairs), base, beta=beta)
    theirs = run_dpo(base, pairs, tmp_path / "trl", beta=beta)
    assert_equal_runs(ours, theirs)


def test_a_reference_computed_once_is_the_reference_computed_every_time(base: Path, tmp_path: Path) -> None:
    """Ours is computed once; TRL's is, or is not."""
    pairs = made_up_pairs(5, vocabulary=300, padded=True)
    ours = run_ours(tmp_path / "ours", "dpo", pair_file(tmp_path / "pairs.jsonl", pairs), base)
    assert_equal_runs(ours, run_dpo(base, pairs, tmp_path / "trl", precomputed=True))
