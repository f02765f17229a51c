"""A job with a dataset, from its first pass to its published policy: sft, dpo and target."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from ..chat.encoder import ChatEncoder
from ..data.dataset import Dataset
from ..data.epoch_batches import row_length
from ..data.packing import Packing
from ..files.atomic_files import fresh_directory, publish_directory
from ..settings import DpoSettings, TrainSettings
from .dataset_objectives import PairObjective, SftObjective
from .objective import Objective
from .reference_logprobs import reference_key, reference_logprobs
from .train import train
from .train_state import load_scorer
from .trainer import Session


def run_dataset_job(session: Session, settings: TrainSettings, data: Dataset) -> str:
    """Trains and publishes; returns the policy's hash."""
    assert session.job.base is not None
    packing = Packing.on(session.device, ChatEncoder.load(session.job.base).pad_id)
    objective: Objective[list[int], Any] = SftObjective(data.examples, packing)
    if isinstance(settings, DpoSettings):
        reference = _reference(session, settings, data, packing)
        objective = PairObjective(data.examples, packing, reference, settings)
    lengths = [row_length(example) for example in data.examples]
    train(session, settings, objective, lengths, _action_share(data))
    return _publish(session)


def _reference(session: Session, settings: DpoSettings, data: Dataset, packing: Packing) -> Tensor:
    """[N, 2] nats, of a frozen policy that computes as the trained one does."""
    job, device, ranks = session.job, session.device, session.ranks
    base, policy = job.base, job.reference
    assert base is not None
    assert policy is not None

    def compute(max_tokens: int) -> Tensor:
        return reference_logprobs(
            session.job_dir / "reference-logprobs.safetensors",
            reference_key(job, settings),
            lambda: load_scorer(policy, settings, base, device=device, ranks=ranks),
            data.examples,
            packing=packing,
            max_tokens=max_tokens,
            ranks=ranks,
        )

    return session.memory.fit(compute, undo=lambda: None)


def _action_share(data: Dataset) -> float:
    rows = [segment for example in data.examples for segment in (*example.chosen, *example.rejected)]
    return sum(sum(row.action_mask) for row in rows) / sum(len(row.input_ids) for row in rows)


def _publish(session: Session) -> str:
    output, weights = session.job.output, session.learner.weights()
    staging = output.with_name(f".{output.name}.staging")

    def write() -> str:
        output.parent.mkdir(parents=True, exist_ok=True)
        policy_hash = session.write_policy(fresh_directory(staging), session.job.facts(), weights)
        publish_directory(staging, output)
        return policy_hash

    return session.ranks.first(write)
