"""A job with a dataset, from its first pass to its published policy: sft, dpo and target."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from ..chat.encoder import ChatEncoder
from ..data.batches import row_length
from ..data.dataset import Dataset
from ..data.packing import Packing
from ..files.durable import fresh_directory, publish_directory
from ..settings import DpoSettings, TrainSettings
from .objective import Objective
from .objectives import PairObjective, SftObjective
from .reference import reference_logprobs
from .session import Session
from .train import train


def run_dataset_job(session: Session, settings: TrainSettings, data: Dataset) -> str:
    """Trains and publishes; returns the policy's hash."""
    assert session.job.base is not None
    pad_id = ChatEncoder.load(session.job.base).pad_id
    packing = Packing.on(session.device, pad_id)
    objective: Objective[list[int], Any] = SftObjective(data.examples, packing)
    if isinstance(settings, DpoSettings):
        reference = _reference(session, data, pad_id)
        objective = PairObjective(data.examples, packing, reference, settings)
    train(session, settings, objective, [row_length(example) for example in data.examples])
    return _publish(session)


def _reference(session: Session, data: Dataset, pad_id: int) -> Tensor:
    """[N, 2] nats, computed by the first process for all."""
    job, cache = session.job, session.job_dir / "reference-logprobs.safetensors"
    reference = job.reference
    assert reference is not None
    return session.ranks.first(
        lambda: reference_logprobs(cache, job.identity(), reference, data.examples, pad_id)
    )


def _publish(session: Session) -> str:
    output, weights = session.job.output, session.learner.weights()
    staging = output.with_name(f".{output.name}.staging")

    def write() -> str:
        output.parent.mkdir(parents=True, exist_ok=True)
        policy_hash = session.write_policy(fresh_directory(staging), session.job.facts(), weights)
        publish_directory(staging, output)
        return policy_hash

    return session.ranks.first(write)
