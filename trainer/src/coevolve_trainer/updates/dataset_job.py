"""A job with a dataset, from its first pass to its published policy: sft, dpo and target."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from torch import Tensor

from ..chat.encoder import ChatEncoder
from ..data.batches import row_length
from ..data.dataset import Dataset
from ..data.packing import Packing
from ..files.durable import fresh_directory, publish_directory
from ..losses.scorer import PolicyScorer
from ..models.policy import load_policy
from ..settings import DpoSettings, TrainSettings
from .objective import Objective
from .objectives import PairObjective, SftObjective
from .reference import reference_key, reference_logprobs
from .session import Session
from .sharding import shard
from .train import train


def run_dataset_job(session: Session, settings: TrainSettings, data: Dataset) -> str:
    """Trains and publishes; returns the policy's hash."""
    assert session.job.base is not None
    packing = Packing.on(session.device, ChatEncoder.load(session.job.base).pad_id)
    objective: Objective[list[int], Any] = SftObjective(data.examples, packing)
    if isinstance(settings, DpoSettings):
        reference = _reference(session, settings, data, packing)
        objective = PairObjective(data.examples, packing, reference, settings)
    train(session, settings, objective, [row_length(example) for example in data.examples])
    return _publish(session)


def _reference(session: Session, settings: DpoSettings, data: Dataset, packing: Packing) -> Tensor:
    """[N, 2] nats, of a frozen policy that computes as the trained one does."""
    job, cache = session.job, session.job_dir / "reference-logprobs.safetensors"
    whole = settings.adapter == "none"  # then weights are float32, whatever products are computed in

    def load_scorer() -> PolicyScorer:
        assert job.reference is not None
        kept = replace(settings, precision="float32") if whole else settings
        model = load_policy(job.reference, kept, session.device, trainable=False)
        scorer = PolicyScorer(model, precision=settings.precision)
        if settings.sharding == "fsdp":
            shard(scorer, session.ranks)
        return scorer

    return reference_logprobs(
        cache,
        reference_key(job, settings),
        load_scorer,
        data.examples,
        packing=packing,
        max_tokens=settings.micro_batch_tokens,
        ranks=session.ranks,
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
