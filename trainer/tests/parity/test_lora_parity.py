"""LoRA: loss, gradient and three AdamW updates of an adapter equal TRL's over peft to 1e-5 in float32."""

from pathlib import Path

import pytest

from coevolve_trainer.files.atomic_files import sha256_of_file
from job_folder import JobFolder
from our_run import run_ours
from token_rows import made_up_pairs, pair_file, sft_file
from trl_run import labelled, run_dpo, run_sft
from watched_run import assert_equal_runs

PAIRS = made_up_pairs(5, vocabulary=300, padded=True)


@pytest.fixture(scope="session")
def adapter(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An adapter of one update, so that both its factors hold something, beside the policy that it adapts."""
    folder = tmp_path_factory.mktemp("adapter")
    store = folder / "store"
    store.mkdir()
    beneath = store / sha256_of_file(base / "manifest.json")
    beneath.symlink_to(base)
    rows = sft_file(folder / "rows.jsonl", [chosen for chosen, _ in PAIRS])
    settings = {"adapter": "lora", "lora_rank": 4, "epochs": 1, "learning_rate": 1e-2, "device": "cpu"}
    job = JobFolder(folder / "job", method="sft", base=beneath, dataset=rows, settings=settings)
    assert job.run() == 0, job.status["failure"]
    return job.output.rename(store / sha256_of_file(job.output / "manifest.json"))


def test_demonstrations_train_an_adapter_as_trl_does(adapter: Path, tmp_path: Path) -> None:
    rows = [chosen for chosen, _ in PAIRS]
    ours = run_ours(tmp_path / "ours", "sft", sft_file(tmp_path / "rows.jsonl", rows), adapter)
    assert_equal_runs(ours, run_sft(adapter, [labelled(row) for row in rows], tmp_path / "trl"))


def test_pairs_train_an_adapter_as_trl_does(adapter: Path, tmp_path: Path) -> None:
    """The reference is the adapter as it was, which TRL keeps as a second, frozen one."""
    ours = run_ours(tmp_path / "ours", "dpo", pair_file(tmp_path / "pairs.jsonl", PAIRS), adapter, beta=0.3)
    assert_equal_runs(ours, run_dpo(adapter, PAIRS, tmp_path / "trl", beta=0.3))
