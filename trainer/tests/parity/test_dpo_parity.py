"""DPO over action tokens: losses, gradients and weights equal TRL's DPOTrainer to 1e-5."""

from pathlib import Path

import pytest

from our_run import run_ours
from run_comparison import assert_equal_runs
from token_rows import pair_file, random_pairs
from trl_run import run_dpo


@pytest.mark.parametrize("padded", [True, False], ids=["padded rows", "rows of one length"])
@pytest.mark.parametrize("beta", [0.1, 0.5])
def test_training_on_pairs_equals_trl(padded: bool, beta: float, base: Path, tmp_path: Path) -> None:
    pairs = random_pairs(5, vocabulary=300, padded=padded)
    ours = run_ours(tmp_path / "ours", "dpo", pair_file(tmp_path / "pairs.jsonl", pairs), base, beta=beta)
    theirs = run_dpo(base, pairs, tmp_path / "trl", beta=beta)
    assert_equal_runs(ours, theirs)


def test_the_cached_reference_equals_trls_precomputed_reference(base: Path, tmp_path: Path) -> None:
    pairs = random_pairs(5, vocabulary=300, padded=True)
    ours = run_ours(tmp_path / "ours", "dpo", pair_file(tmp_path / "pairs.jsonl", pairs), base)
    assert_equal_runs(ours, run_dpo(base, pairs, tmp_path / "trl", precomputed=True))
