"""LoRA: losses, gradients and weights of an adapter equal TRL with peft to 1e-5."""

from pathlib import Path

import pytest

from coevolve_trainer.files.atomic_files import sha256_of_file
from job_folder import JobFolder
from our_run import run_ours
from run_comparison import assert_equal_runs
from token_rows import pair_file, random_pairs, sft_file
from trl_run import labeled, run_dpo, run_sft

PAIRS = random_pairs(5, vocabulary=300, padded=True)


@pytest.fixture(scope="session")
def adapter(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An adapter after one update, so that both factors are not 0, beside its base model."""
    folder = tmp_path_factory.mktemp("adapter")
    store = folder / "store"
    store.mkdir()
    model = store / sha256_of_file(base / "manifest.json")
    model.symlink_to(base)
    rows = sft_file(folder / "rows.jsonl", [chosen for chosen, _ in PAIRS])
    settings = {"adapter": "lora", "lora_rank": 4, "epochs": 1, "learning_rate": 1e-2, "device": "cpu"}
    job = JobFolder(folder / "job", method="sft", base=model, dataset=rows, settings=settings)
    assert job.run() == 0, job.failure
    return job.output.rename(store / sha256_of_file(job.output / "manifest.json"))


def test_training_an_adapter_on_demonstrations_equals_trl(adapter: Path, tmp_path: Path) -> None:
    rows = [chosen for chosen, _ in PAIRS]
    ours = run_ours(tmp_path / "ours", "sft", sft_file(tmp_path / "rows.jsonl", rows), adapter)
    assert_equal_runs(ours, run_sft(adapter, [labeled(row) for row in rows], tmp_path / "trl"))


def test_training_an_adapter_on_pairs_equals_trl(adapter: Path, tmp_path: Path) -> None:
    """The reference is the initial adapter, which TRL keeps as a second, frozen adapter."""
    ours = run_ours(tmp_path / "ours", "dpo", pair_file(tmp_path / "pairs.jsonl", PAIRS), adapter, beta=0.3)
    assert_equal_runs(ours, run_dpo(adapter, PAIRS, tmp_path / "trl", beta=0.3))
