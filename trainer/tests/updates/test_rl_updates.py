"""Several updates on one batch of rollouts equal plain code: ratios, clipping, importance weights, AdamW."""

import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from coevolve_trainer.settings import GrpoSettings
from job_folder import JobFolder, rl_job
from loaded_policy import load_model
from sampled_rollouts import Rows, sample_rollouts

SETTINGS: dict[str, Any] = {"epochs": 2, "mini_batches": 2, "importance_truncation": 1.1}
SETTINGS |= {"learning_rate": 3e-3, "clip_low": 0.05, "clip_high": 0.08, "kl_coefficient": 0.1}


@pytest.fixture(scope="module")
def rows(trained: Path) -> Rows:
    """Rollouts of four tasks whose server computes other log-probabilities than the trainer."""
    rows, draw = sample_rollouts(trained, tasks=4, attempts=2), random.Random(5)
    for row in rows:
        for turn in row["turns"]:
            turn["logprobs"] = [min(0.0, logp + draw.gauss(0, 0.2)) for logp in turn["logprobs"]]
    return rows


@pytest.fixture(scope="module")
def job(trained: Path, base: Path, rows: Rows, tmp_path_factory: pytest.TempPathFactory) -> JobFolder:
    job = rl_job(tmp_path_factory.mktemp("rl") / "job", trained, steps=1, settings=SETTINGS)
    job.submit(1, rows)
    assert job.run() == 0, job.failure
    return job


def logprobs(model: Any, row: dict[str, Any]) -> Tensor:
    """Returns the log-probabilities of a row's action tokens."""
    found = []
    for turn in row["turns"]:
        prompt, action = turn["prompt_token_ids"], turn["token_ids"]
        sources = range(len(prompt) - 1, len(prompt) + len(action) - 1)
        logits = model(input_ids=torch.tensor([prompt + action])).logits[0]
        found.append(logits.log_softmax(-1)[sources, action])
    return torch.cat(found)


def server_logprobs(row: dict[str, Any]) -> Tensor:
    return torch.tensor([logp for turn in row["turns"] for logp in turn["logprobs"]])


def plain_updates(policy: Path, rows: Rows) -> tuple[list[dict[str, float]], dict[str, Tensor]]:
    """Makes the updates with plain loops; returns the metrics of each, and the weights."""
    model = load_model(policy)
    settings = GrpoSettings(**SETTINGS)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay
    )
    groups = list(dict.fromkeys(row["group"] for row in rows))
    with torch.no_grad():
        old = {row["trajectory_id"]: logprobs(model, row) for row in rows}
    metrics = []
    for epoch in range(2):
        order = list(range(4))
        random.Random(f"7/1/{epoch}").shuffle(order)  # the job's seed, and the step
        for part in (order[:2], order[2:]):
            per_group, columns = [], list[Tensor]()
            for group in part:
                terms = []
                for row in (row for row in rows if row["group"] == groups[group]):
                    logp, before = logprobs(model, row), old[row["trajectory_id"]]
                    ratio, advantage = (logp - before).exp(), row["advantage"]
                    clip = torch.minimum(ratio * advantage, ratio.clamp(0.95, 1.08) * advantage)
                    weight = (before - server_logprobs(row)).exp().clamp(max=1.1)
                    # The reference is the policy before the job
                    kl = (before - logp).exp() - (before - logp) - 1
                    terms.append(weight * clip - 0.1 * kl)
                    low, high = (ratio < 0.95) & (advantage < 0), (ratio > 1.08) & (advantage > 0)
                    columns.append(torch.stack([ratio, low, high, kl, ratio - 1 - ratio.log()]).detach())
                per_group.append(torch.cat(terms).mean())
            loss = -torch.stack(per_group).mean()
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), settings.max_grad_norm)
            optimizer.step()
            table = torch.cat(columns, 1)
            names = ("ratio", "clipped_low", "clipped_high", "kl", "kl_old")
            metrics.append(dict(zip(names, table.mean(1).tolist(), strict=True)))
            metrics[-1] |= {"loss": loss.item(), "grad_norm": norm.item(), "ratio_max": table[0].max().item()}
    return metrics, {name: p.detach() for name, p in model.named_parameters()}


def test_losses_metrics_and_weights_are_those_of_plain_updates(
    job: JobFolder, trained: Path, rows: Rows
) -> None:
    expected, weights = plain_updates(trained, rows)
    lines = job.events_of("step")
    assert [line["step"] for line in lines] == [1, 2, 3, 4]
    for line, values in zip(lines, expected, strict=True):
        assert {name: line[name] for name in values} == pytest.approx(values, abs=1e-4, rel=1e-3)
    assert lines[0]["ratio_max"] == pytest.approx(1, abs=1e-5)
    assert lines[-1]["clipped_low"] + lines[-1]["clipped_high"] > 0
    for name, found in load_file(job.output / "model.safetensors").items():
        torch.testing.assert_close(found, weights[name], atol=2e-4, rtol=1e-3, msg=name)


def test_the_record_of_the_batch_sums_up_its_updates(job: JobFolder) -> None:
    lines, (record,) = job.events_of("step"), job.status["policies"]
    metrics = record["metrics"]
    assert metrics["updates"] == 4
    assert metrics["ratio_max"] == max(line["ratio_max"] for line in lines)
    assert record["loss"] == pytest.approx(sum(line["loss"] for line in lines) / 4)
    tokens = [line["action_tokens"] for line in lines]
    kl = sum(line["kl_old"] * count for line, count in zip(lines, tokens, strict=True)) / sum(tokens)
    assert metrics["kl_old"] == pytest.approx(kl)
    assert 0 < metrics["importance_truncated"] < 1
    assert metrics["logp_gap"] == pytest.approx(0.16, abs=0.04)  # sqrt(2 / pi) * 0.2
    assert job.optimizer_steps == {4}
    assert [path.name for path in sorted((job.folder / "policies").iterdir())] == ["step-000001"]


def test_updates_of_one_epoch_see_different_groups(job: JobFolder) -> None:
    lines = job.events_of("step")
    assert [line["groups"] for line in lines] == [2, 2, 2, 2]
    assert all(one["loss"] != other["loss"] for one, other in pairwise(lines))
