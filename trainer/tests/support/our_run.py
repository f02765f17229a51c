"""Three updates by our trainer, as a whole job."""

from pathlib import Path
from typing import Any

from safetensors.torch import load_file

from job_folder import JobFolder
from run_comparison import NO_CLIPPING, RATE, UPDATES, Run, first_gradient
from trl_run import load, trained_parameters

SETTINGS: dict[str, Any] = {
    "epochs": UPDATES,
    "batch_size": 64,  # all rows are one batch
    "learning_rate": RATE,
    "schedule": "constant",
    "warmup_fraction": 0.0,
    "weight_decay": 0.0,
    "max_grad_norm": NO_CLIPPING,
    "device": "cpu",
    "log_every": 1,
}


def run_ours(
    folder: Path,
    method: str,
    dataset: Path,
    base: Path,
    *,
    reference: tuple[Path, str] | None = None,
    **change: Any,
) -> Run:
    """Runs a job of three updates; `change` are settings, `reference` a policy and its hash."""
    fields = {"reference": str(reference[0]), "reference_hash": reference[1]} if reference else {}
    settings = SETTINGS | change
    job = JobFolder(folder, method=method, base=base, dataset=dataset, settings=settings, **fields)
    with first_gradient() as found:
        assert job.run() == 0, job.failure
    (file,) = job.output.glob("*model.safetensors")
    weights = load_file(file)
    gradient = {name: g for name, (_, g) in zip(trained_parameters(load(base)), found, strict=True)}
    return Run(job.losses, gradient, weights)
