"""The engine of a job is resolved, and refused where it cannot run, before anything is trained."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from coevolve_trainer import engines
from coevolve_trainer.failures import EXIT_CODES, JobFailure, as_job_failure
from coevolve_trainer.job import Job, read_job
from coevolve_trainer.settings import ComputeSettings
from coevolve_trainer.trl_engine.arguments import require_distribution
from job_folder import JobFolder


def job_of(folder: Path, base: Path, method: str = "sft", **settings: Any) -> Job:
    fields: dict[str, Any] = {"steps": 1} if method == "grpo" else {"dataset": base / "config.json"}
    return read_job(JobFolder(folder, method=method, base=base, settings=settings, **fields).folder)


def engine_of(job: Job) -> str:
    resolved = engines.with_resolved_engine(job).settings
    assert isinstance(resolved, ComputeSettings)
    return resolved.engine


@pytest.fixture
def on_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "trains_on_cuda", lambda settings: settings.device != "cpu")


def test_auto_is_the_builtin_engine_on_a_cpu(base: Path, tmp_path: Path) -> None:
    assert engine_of(job_of(tmp_path / "job", base, device="cpu")) == "builtin"


@pytest.mark.parametrize("method", ["sft", "rft", "dpo", "target"])
@pytest.mark.usefixtures("on_cuda")
def test_auto_is_trl_on_cuda(method: str, base: Path, tmp_path: Path) -> None:
    assert engine_of(job_of(tmp_path / "job", base, method)) == "trl"


@pytest.mark.usefixtures("on_cuda")
def test_auto_is_the_builtin_engine_for_rl_and_where_trl_is_not_installed(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert engine_of(job_of(tmp_path / "grpo", base, "grpo")) == "builtin"
    monkeypatch.setattr(engines, "is_installed", lambda: False)
    assert engine_of(job_of(tmp_path / "sft", base)) == "builtin"


def test_the_engines_have_different_checkpoints(base: Path, tmp_path: Path) -> None:
    job = job_of(tmp_path / "job", base)
    assert isinstance(job.settings, ComputeSettings)
    keys = {
        replace(job, settings=replace(job.settings, engine=engine)).checkpoint_key()
        for engine in ("builtin", "trl")
    }
    assert len(keys) == 2


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("grpo", {"engine": "trl"}, "settings.engine: found trl, expected builtin or auto: TRL has no grpo job"),
    (
        "sft",
        {"engine": "builtin", "sharding": "deepspeed"},
        "settings.sharding: found deepspeed with engine builtin",
    ),
    (
        "sft",
        {"engine": "trl", "sharding": "fsdp", "device": "cpu"},
        "found fsdp with engine trl on a CPU, expected",
    ),
    (
        "sft",
        {"engine": "trl", "sharding": "deepspeed", "device": "cpu"},
        "found deepspeed with engine trl on a CPU",
    ),
]


@pytest.mark.parametrize(("method", "settings", "message"), REFUSED)
def test_an_engine_without_the_method_or_the_sharding_is_refused(
    method: str, settings: dict[str, Any], message: str, base: Path, tmp_path: Path
) -> None:
    job = job_of(tmp_path / "job", base, method, **settings)
    with pytest.raises(JobFailure, match=message) as caught:
        engines.with_resolved_engine(job)
    assert caught.value.type == "bad-input"


@pytest.mark.usefixtures("on_cuda")
def test_sharding_with_missing_packages_or_one_process_is_refused(base: Path, tmp_path: Path) -> None:
    alone = job_of(tmp_path / "alone", base, sharding="fsdp")
    with pytest.raises(JobFailure, match="found fsdp with engine trl and one process, expected none"):
        engines.with_resolved_engine(alone)
    zero = job_of(tmp_path / "zero", base, sharding="deepspeed", processes=2)
    with pytest.raises(
        JobFailure, match="found deepspeed, which is not installed, expected fsdp, or `pip install"
    ):
        engines.with_resolved_engine(zero)


def test_a_job_for_trl_where_it_is_not_installed_fails_at_once_with_the_command(
    datasets: Path, base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "is_installed", lambda: False)
    dataset, settings = datasets / "experts.jsonl", {"engine": "trl"}
    job = JobFolder(tmp_path / "job", method="sft", base=base, dataset=dataset, settings=settings)
    assert job.run() == EXIT_CODES["bad-input"]
    assert "trl, which is not installed, expected builtin, or TRL installed by" in job.failure["message"]
    assert "`npm run setup -- --with trl`" in job.failure["message"]


def test_a_job_that_accelerate_does_not_distribute_as_required_is_refused(base: Path, tmp_path: Path) -> None:
    settings = job_of(tmp_path / "job", base, sharding="fsdp", processes=2).settings
    with pytest.raises(JobFailure, match="found fsdp, run by accelerate as MULTI_CPU, expected FSDP"):
        require_distribution(settings, "MULTI_CPU")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "error",
    [
        torch.distributed.DistBackendError("NCCL error: remote process exited\nmore"),
        RuntimeError("[/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:547] Connection closed by peer"),
    ],
)
def test_a_lost_connection_between_processes_has_a_type_that_is_started_again(error: RuntimeError) -> None:
    failure = as_job_failure(error)
    assert failure.type == "stalled"
    cause = str(error).split("\n")[0]
    assert failure.message == f"a process lost the others: {cause}; start the job again to resume"
