"""Eq. 9 of "Co-Evolving Agents" (arXiv:2511.22254v1), computed by hand from TRL's log-probabilities.

TRL has no weight per pair: its loss weights are constant in a run.
"""

import math
from pathlib import Path

import pytest

from coevolve_trainer.files.atomic_files import sha256_of_file
from our_run import run_ours
from run_comparison import assert_equal_runs
from token_rows import pair_file, random_pairs
from trl_run import collate_pairs, dpo_trainer, run_dpo

BETA = 0.2
LAMBDAS = [(0.5, 0.5), (1.0, 0.0), (0.5, 0.5), (1.0, 0.0), (0.5, 0.5)]


def hash_of(policy: Path) -> str:
    return sha256_of_file(policy / "manifest.json")


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_the_loss_with_lambdas_per_pair_equals_a_computation_by_hand(
    reduction: str, base: Path, trained: Path, tmp_path: Path
) -> None:
    pairs = random_pairs(len(LAMBDAS), vocabulary=300, padded=True)
    trainer = dpo_trainer(trained, pairs, tmp_path / "trl", reference=base)
    batch = collate_pairs([{"rows": pair} for pair in pairs])
    policy, reference = (
        [side.tolist() for side in trainer.compute_ref_log_probs(model, batch)]
        for model in (trainer.model, trainer.ref_model)
    )
    by_hand = 0.0
    for i, (lambda_dpo, lambda_sft) in enumerate(LAMBDAS):
        margin = BETA * ((policy[0][i] - reference[0][i]) - (policy[1][i] - reference[1][i]))
        nll = -policy[0][i] / (sum(pairs[i][0].mask) if reduction == "mean" else 1)
        by_hand += (lambda_dpo * math.log1p(math.exp(-margin)) + lambda_sft * nll) / len(LAMBDAS)

    dataset = pair_file(tmp_path / "pairs.jsonl", pairs, LAMBDAS)
    settings = {"beta": BETA, "sft_reduction": reduction}
    ours = run_ours(
        tmp_path / "ours", "target", dataset, trained, reference=(base, hash_of(base)), **settings
    )
    assert ours.losses[0] == pytest.approx(by_hand, abs=1e-5, rel=1e-5)


def test_training_on_pairs_with_lambdas_1_and_0_equals_trl(base: Path, trained: Path, tmp_path: Path) -> None:
    pairs = random_pairs(4, vocabulary=300, padded=True)
    dataset = pair_file(tmp_path / "pairs.jsonl", pairs, [(1.0, 0.0)] * 4)
    reference = (base, hash_of(base))
    ours = run_ours(tmp_path / "ours", "target", dataset, trained, reference=reference, beta=BETA)
    assert_equal_runs(ours, run_dpo(trained, pairs, tmp_path / "trl", beta=BETA, reference=base))
