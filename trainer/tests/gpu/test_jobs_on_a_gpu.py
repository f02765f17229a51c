"""Jobs on a GPU: the losses of a CPU, resume after a kill, typed failures."""

import signal
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

import gpu
from coevolve_trainer.failures import EXIT_CODES
from coevolve_trainer.files.atomic_files import sha256_of_file
from job_folder import JobFolder, expert_rows, pair_rows, rl_job, wait_until, write_rows
from sampled_rollouts import Rows

LORA = {"adapter": "lora", "lora_rank": 4}
ENGINES = ("builtin", "trl")
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "sft": ("sft", {}),
    "dpo": ("dpo", {}),
    "target": ("target", {}),
    "sft of an adapter": ("sft", LORA),
    "target of an adapter": ("target", LORA),
}


@pytest.fixture(scope="module", autouse=True)
def devices() -> int:
    """The number of GPUs; without one all tests of this file are skipped."""
    found = gpu.count()
    if found == 0:
        pytest.skip("needs a GPU that torch can use")
    return found


def create_job(folder: Path, method: str, base: Path, **settings: Any) -> JobFolder:
    """Eight updates of micro-batches of unequal sizes."""
    rows = expert_rows(20) if method == "sft" else pair_rows(20)
    dataset = write_rows(folder.with_suffix(".jsonl"), rows)
    defaults: dict[str, Any] = {"epochs": 2, "batch_size": 5, "micro_batch_tokens": 350, "log_every": 1}
    defaults |= {"learning_rate": 1e-3, "precision": "float32", "device": "cuda", "checkpoint_every": 2}
    return JobFolder(folder, method=method, base=base, dataset=dataset, settings=defaults | settings)


def assert_same_policy(found: JobFolder, expected: JobFolder, tolerance: float) -> None:
    weights, others = (load_file(next(job.output.glob("*model.safetensors"))) for job in (found, expected))
    for name, weight in weights.items():
        torch.testing.assert_close(weight, others[name], atol=tolerance, rtol=0, msg=name)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", CASES)
def test_a_gpu_trains_the_policy_of_a_cpu(case: str, engine: str, base: Path, tmp_path: Path) -> None:
    method, settings = CASES[case]
    on_gpu = create_job(tmp_path / "gpu", method, base, engine=engine, **settings)
    on_cpu = create_job(tmp_path / "cpu", method, base, device="cpu", **settings)
    assert gpu.run(on_gpu) == 0, on_gpu.failure
    assert on_cpu.run() == 0
    assert (on_gpu.status["device"], on_gpu.status["engine"]) == ("cuda", engine)
    assert on_gpu.losses == pytest.approx(on_cpu.losses, abs=1e-4)
    assert_same_policy(on_gpu, on_cpu, 1e-4)


@pytest.mark.parametrize("method", ["grpo", "ppo"])
@pytest.mark.parametrize(
    ("settings", "tolerance"),
    [({"precision": "float32"}, 1e-4), ({"precision": "bfloat16", **LORA}, 0.02)],
    ids=["float32", "an adapter in bfloat16"],
)
def test_reinforcement_learning_on_a_gpu_has_the_losses_of_a_cpu(
    settings: dict[str, Any],
    tolerance: float,
    method: str,
    trained: Path,
    batches: list[Rows],
    tmp_path: Path,
) -> None:
    jobs = [
        rl_job(tmp_path / name, trained, method=method, settings=settings | change)
        for name, change in (("gpu", {"device": "cuda"}), ("cpu", {"device": "cpu", "precision": "float32"}))
    ]
    for job in jobs:
        for step, rows in enumerate(batches[:3], 1):
            job.submit(step, rows)
    assert gpu.run(jobs[0]) == 0, jobs[0].failure
    assert jobs[1].run() == 0
    assert jobs[0].losses == pytest.approx(jobs[1].losses, abs=tolerance)
    assert_same_policy(jobs[0], jobs[1], tolerance)


@pytest.mark.parametrize("case", ["sft", "target of an adapter"])
def test_the_defaults_on_a_gpu_are_bfloat16_and_trl(case: str, base: Path, tmp_path: Path) -> None:
    method, settings = CASES[case]
    defaults = {"precision": "auto", "device": "auto"}
    job = create_job(tmp_path / "gpu", method, base, **settings, **defaults)
    exact = create_job(tmp_path / "cpu", method, base, device="cpu", **settings)
    assert gpu.run(job) == 0, job.failure
    assert exact.run() == 0
    assert (job.status["device"], job.status["precision"]) == ("cuda", "bfloat16")
    assert job.status["engine"] == ("trl" if find_spec("trl") else "builtin")
    assert job.losses == pytest.approx(exact.losses, rel=0.02, abs=0.02)


@pytest.mark.parametrize("compile", ["off", "on"])
@pytest.mark.parametrize("case", ["target", "sft of an adapter", "target of an adapter"])
def test_the_builtin_engine_in_bfloat16_has_the_losses_of_float32(
    case: str, compile: str, base: Path, tmp_path: Path
) -> None:
    method, settings = CASES[case]
    settings = {"engine": "builtin", **settings}
    job = create_job(tmp_path / "gpu", method, base, precision="bfloat16", compile=compile, **settings)
    exact = create_job(tmp_path / "cpu", method, base, device="cpu", **settings)
    assert gpu.run(job) == 0, job.failure
    assert exact.run() == 0
    assert job.losses == pytest.approx(exact.losses, rel=0.02, abs=0.02)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", ["sft", "target of an adapter"])
def test_a_killed_job_continues_as_if_it_had_not_been_killed(
    case: str, engine: str, base: Path, tmp_path: Path
) -> None:
    """Not with equal bytes: torch has no deterministic backward pass of flash attention in this mode."""
    method, settings = CASES[case]
    settings = settings | {"engine": engine, "precision": "bfloat16", "epochs": 10}
    uninterrupted, killed = (
        create_job(tmp_path / name, method, base, **settings) for name in ("uninterrupted", "killed")
    )
    assert gpu.run(uninterrupted) == 0, uninterrupted.failure
    process = gpu.start(killed)
    wait_until(lambda: killed.newest_checkpoint >= 4 or process.poll() is not None)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    assert gpu.run(killed) == 0, killed.failure
    assert len(killed.resumed_steps) == 1
    assert killed.status["tokens"] == uninterrupted.status["tokens"]
    assert killed.losses[-1] == pytest.approx(uninterrupted.losses[-1], rel=0.02)


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory, datasets: Path) -> Path:
    """A policy of 28 MB, whose activations in a batch of 200 rows take gigabytes."""
    settings = {"hidden_size": 256, "layers": 8, "feed_forward_size": 1024, "vocabulary_size": 400}
    folder = tmp_path_factory.mktemp("wide") / "init"
    job = JobFolder(folder, method="init", dataset=datasets / "experts.jsonl", settings=settings)
    assert job.run() == 0
    return job.output


def create_wide_job(folder: Path, wide: Path, engine: str) -> JobFolder:
    """Three updates with one micro-batch each."""
    dataset = write_rows(folder.with_suffix(".jsonl"), expert_rows(200))
    settings = {
        "epochs": 3,
        "batch_size": 200,
        "micro_batch_tokens": 20_000,
        "log_every": 1,
        "engine": engine,
    }
    return JobFolder(folder, method="sft", base=wide, dataset=dataset, settings=settings)


def test_a_job_out_of_memory_continues_with_smaller_micro_batches(wide: Path, tmp_path: Path) -> None:
    unlimited, limited = (create_wide_job(tmp_path / name, wide, "builtin") for name in ("all", "part"))
    assert gpu.run(unlimited) == 0, unlimited.failure
    peak = unlimited.events_of("step")[-1]["memory_bytes"]
    assert gpu.run_with_memory(limited, int(0.7 * peak)) == 0, limited.failure
    assert limited.status["micro_batch_tokens"] < unlimited.status["micro_batch_tokens"]
    assert limited.losses == pytest.approx(unlimited.losses, abs=0.01)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_job_that_cannot_fit_fails_as_out_of_memory(engine: str, wide: Path, tmp_path: Path) -> None:
    job = create_wide_job(tmp_path / "job", wide, engine)
    assert gpu.run_with_memory(job, 2**24) == EXIT_CODES["out-of-memory"], job.failure
    assert job.failure["type"] == "out-of-memory"


@pytest.mark.parametrize("engine", ENGINES)
def test_more_processes_than_gpus_are_bad_input(
    engine: str, devices: int, base: Path, tmp_path: Path
) -> None:
    if devices != 1:
        pytest.skip("this machine has a GPU for each of two processes")
    job = create_job(tmp_path / "job", "sft", base, engine=engine, sharding="ddp", processes=2)
    assert gpu.launch(job) != 0
    assert job.failure["type"] == "bad-input"
    assert "settings.processes: found 2, expected at most 1" in job.failure["message"]


@pytest.mark.parametrize("sharding", ["ddp", "fsdp"])
def test_one_gpu_trains_as_a_group_of_one(sharding: str, base: Path, tmp_path: Path) -> None:
    grouped = create_job(tmp_path / "grouped", "sft", base, engine="builtin", sharding=sharding)
    alone = create_job(tmp_path / "alone", "sft", base, engine="builtin")
    assert [gpu.run(grouped), gpu.run(alone)] == [0, 0]
    assert grouped.losses == pytest.approx(alone.losses, abs=1e-4)


@pytest.mark.skipif(find_spec("deepspeed") is None, reason="needs DeepSpeed")
@pytest.mark.parametrize("case", ["sft", "target of an adapter"])
def test_deepspeed_has_the_losses_of_a_cpu(case: str, base: Path, tmp_path: Path) -> None:
    method, settings = CASES[case]
    job = create_job(tmp_path / "gpu", method, base, engine="trl", sharding="deepspeed", **settings)
    exact = create_job(tmp_path / "cpu", method, base, device="cpu", **settings)
    assert gpu.run(job) == 0, job.failure
    assert exact.run() == 0
    assert job.losses == pytest.approx(exact.losses, abs=1e-3)


@pytest.mark.parametrize("rows", ["equal", "of different lengths"])
def test_attention_on_a_gpu_is_a_fused_kernel(rows: str) -> None:
    """Neither bfloat16's grouped heads nor padded rows fall to the kernel that stores every score."""
    found = gpu.result_of(Path(__file__).with_name("attention_kernels.py"), rows)
    assert any("flash" in name or "efficient" in name for name in found), found
    assert not any("attention_math" in name for name in found), found


def test_a_reference_of_another_policy_is_computed_on_the_gpu(
    base: Path, trained: Path, tmp_path: Path
) -> None:
    jobs = [create_job(tmp_path / d, "dpo", trained, device=d, engine="builtin") for d in ("cuda", "cpu")]
    for job in jobs:
        job.change(reference=str(base), reference_hash=sha256_of_file(base / "manifest.json"))
    assert gpu.run(jobs[0]) == 0, jobs[0].failure
    assert jobs[1].run() == 0
    assert jobs[0].losses == pytest.approx(jobs[1].losses, abs=1e-4)
