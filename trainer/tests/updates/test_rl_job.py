"""An RL update: its gradient, its independence of the micro-batches, and its effect on the policy."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
import torch

from coevolve_trainer.chat.encoder import ChatEncoder
from coevolve_trainer.data.packing import Packing
from coevolve_trainer.data.rollout_batch import RolloutBatch, read_rollouts
from coevolve_trainer.losses.scorer import PolicyScorer
from coevolve_trainer.process_group import ProcessGroup
from coevolve_trainer.settings import GrpoSettings, PpoSettings, RlSettings
from coevolve_trainer.updates.batch_record import batch_metrics
from coevolve_trainer.updates.rl_job import RolloutObjective
from coevolve_trainer.updates.rollout_preparation import prepare_rollouts
from coevolve_trainer.updates.train_state import TrainState, load_train_state
from coevolve_trainer.updates.update import accumulate_gradients
from job_folder import expert_rows, write_rows
from loaded_policy import load_model
from sampled_rollouts import Rows, sample_rollouts, sample_turn

METHODS = [GrpoSettings(), PpoSettings()]

ReadBatch = Callable[[Rows, RlSettings], RolloutBatch]


@pytest.fixture(scope="module")
def rows(trained: Path) -> Rows:
    return sample_rollouts(trained)


@pytest.fixture
def read_batch(tmp_path: Path, trained: Path) -> ReadBatch:
    encoder = ChatEncoder.load(trained)

    def read(rows: Rows, settings: RlSettings) -> RolloutBatch:
        score = "advantage" if isinstance(settings, GrpoSettings) else "reward"
        path = write_rows(tmp_path / "rows.jsonl", rows)
        return read_rollouts(path, encoder, name="batch 1", score=score, max_length=512)

    return read


class Update(NamedTuple):
    loss: float
    metrics: dict[str, float]


def accumulate(
    train_state: TrainState, reference: PolicyScorer, batch: RolloutBatch, settings: RlSettings
) -> Update:
    """Adds the gradient of an update to the parameters of the train state."""
    packing, process_group = Packing(pad_id=0), ProcessGroup()
    prepared = prepare_rollouts(
        batch, train_state.scorer, reference, settings, process_group, packing=packing
    )
    objective = RolloutObjective(settings, packing)
    micro_batches = objective.split(prepared, settings.micro_batch_tokens)
    totals = accumulate_gradients(objective, micro_batches, train_state.scorer, process_group)
    return Update(totals.loss, {**totals.means(), **batch_metrics(batch, settings)})


def make_update(
    train_state: TrainState, reference: PolicyScorer, batch: RolloutBatch, settings: RlSettings
) -> Update:
    update = accumulate(train_state, reference, batch, settings)
    torch.nn.utils.clip_grad_norm_(train_state.parameters(), settings.max_grad_norm)
    train_state.optimizer.step()
    train_state.optimizer.zero_grad(set_to_none=True)
    return update


def load_frozen(policy: Path) -> PolicyScorer:
    return PolicyScorer(load_model(policy).requires_grad_(False))


def update_and_gradient(
    reference: Path, batch: RolloutBatch, settings: RlSettings, train_state: TrainState
) -> tuple[Update, torch.Tensor]:
    update = accumulate(train_state, load_frozen(reference), batch, settings)
    return update, torch.cat([p.grad.flatten() for p in train_state.parameters() if p.grad is not None])


@pytest.mark.parametrize("settings", METHODS)
def test_the_gradient_does_not_depend_on_the_micro_batches(
    settings: RlSettings, rows: Rows, read_batch: ReadBatch, base: Path, trained: Path
) -> None:
    batch = read_batch(rows, settings)
    found = []
    for tokens in (8, 300, 1000, 10**6):
        train_state = load_train_state(trained, settings)
        if train_state.value_head is not None:
            torch.nn.init.constant_(train_state.value_head.weight, 0.01)
        split = replace(settings, micro_batch_tokens=tokens, kl_coefficient=0.1)
        found.append(update_and_gradient(base, batch, split, train_state))
    whole, expected = found.pop()
    for update, gradient in found:
        torch.testing.assert_close(gradient, expected, atol=1e-6, rtol=0)
        assert update.loss == pytest.approx(whole.loss, abs=1e-6)
        assert update.metrics == pytest.approx(whole.metrics, abs=1e-6)


def test_loss_and_gradient_are_those_of_eq_1_computed_per_trajectory(
    rows: Rows, read_batch: ReadBatch, base: Path, trained: Path
) -> None:
    settings = GrpoSettings(kl_coefficient=0.1, micro_batch_tokens=300)
    train_state = load_train_state(trained, settings)
    update, gradient = update_and_gradient(base, read_batch(rows, settings), settings, train_state)

    model, reference = load_model(trained), load_model(base)
    groups: dict[str, list[torch.Tensor]] = {}
    for row in rows:
        for turn in row["turns"]:
            prompt, action = turn["prompt_token_ids"], turn["token_ids"]
            ids, old = torch.tensor([prompt + action]), torch.tensor(turn["logprobs"])
            sources = range(len(prompt) - 1, len(prompt) + len(action) - 1)
            logp = model(input_ids=ids).logits[0].log_softmax(-1)[sources, action]
            with torch.no_grad():
                reference_logp = reference(input_ids=ids).logits[0].log_softmax(-1)[sources, action]
            ratio, advantage = (logp - old).exp(), row["advantage"]
            clip = torch.minimum(ratio * advantage, ratio.clamp(0.8, 1.28) * advantage)
            kl = (reference_logp - logp).exp() - (reference_logp - logp) - 1
            groups.setdefault(row["group"], []).append(clip - 0.1 * kl)
    loss = -torch.stack([torch.cat(terms).mean() for terms in groups.values()]).mean()
    loss.backward()  # type: ignore[no-untyped-call]
    assert update.loss == pytest.approx(loss.item(), abs=1e-6)
    expected = torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])
    torch.testing.assert_close(gradient, expected, atol=1e-6, rtol=1e-4)


def test_the_metrics_show_that_the_first_pass_equals_the_recorded_log_probabilities(
    rows: Rows, read_batch: ReadBatch, trained: Path
) -> None:
    equal = [{**row, "advantage": 0.0 if row["group"] == "task-1" else row["advantage"]} for row in rows]
    settings = GrpoSettings()
    train_state = load_train_state(trained, settings)
    update, _ = update_and_gradient(trained, read_batch(equal, settings), settings, train_state)
    metrics = update.metrics
    assert metrics["logp_gap"] < 1e-4
    assert metrics["ratio"] == pytest.approx(1, abs=1e-4)
    assert metrics["kl"] == pytest.approx(0, abs=1e-6)
    assert metrics["zero_advantage_groups"] == pytest.approx(1 / 3)
    assert metrics["clipped_low"] == metrics["clipped_high"] == 0
    assert (metrics["trajectories"], metrics["groups"], metrics["truncated"]) == (12, 3, 0)
    assert metrics["segments"] == 16  # the four of task 1 have two rows each
    assert metrics["action_tokens"] == 12 * 12


def test_without_advantages_the_kl_term_still_has_a_gradient_towards_the_reference(
    rows: Rows, read_batch: ReadBatch, base: Path, trained: Path
) -> None:
    settings = GrpoSettings(kl_coefficient=1.0)
    batch = read_batch([{**row, "advantage": 0.0} for row in rows], settings)
    _, at_reference = update_and_gradient(trained, batch, settings, load_train_state(trained, settings))
    update, away = update_and_gradient(base, batch, settings, load_train_state(trained, settings))
    assert at_reference.abs().max() < 1e-5
    assert away.abs().max() > 1e-2
    assert update.metrics["kl"] > 0.1
    assert update.loss == pytest.approx(update.metrics["kl"], rel=1e-4)


def test_rollouts_of_another_policy_have_a_large_logp_gap(
    rows: Rows, read_batch: ReadBatch, base: Path, trained: Path
) -> None:
    settings = GrpoSettings()
    train_state = load_train_state(base, settings)
    update, _ = update_and_gradient(trained, read_batch(rows, settings), settings, train_state)
    assert update.metrics["logp_gap"] > 0.1
    assert update.metrics["clipped_low"] > 0


def test_group_and_batch_means_differ_when_groups_differ_in_length(
    rows: Rows, read_batch: ReadBatch, trained: Path
) -> None:
    short = [{**row, "turns": row["turns"][:1]} if row["group"] == "task-0" else row for row in rows]
    losses = []
    for aggregation in ("group", "batch"):
        settings = GrpoSettings(aggregation=aggregation)
        train_state = load_train_state(trained, settings)
        update, _ = update_and_gradient(trained, read_batch(short, settings), settings, train_state)
        losses.append(update.loss)
    advantages = [[row["advantage"] for row in short if row["group"] == f"task-{g}"] for g in range(3)]
    means = [sum(group) / 4 for group in advantages]
    assert losses[0] == pytest.approx(-sum(means) / 3, abs=1e-5)  # at ratio 1 the loss is -A
    assert losses[1] == pytest.approx(-(means[0] + 2 * means[1] + 2 * means[2]) / 5, abs=1e-5)


def test_grpo_increases_the_probability_of_rewarded_actions(read_batch: ReadBatch, trained: Path) -> None:
    """A bandit: an action is one token, and rewarded when its id is even."""
    settings = GrpoSettings(learning_rate=2e-3)
    train_state, reference = load_train_state(trained, settings), load_frozen(trained)
    prompt = ChatEncoder.load(trained).prompt_ids(expert_rows(1)[0]["messages"][:2])
    generator = torch.Generator().manual_seed(3)
    probabilities = [probability_of_even(train_state, prompt)]
    for _ in range(10):
        turns = [sample_turn(train_state.model, prompt, generator, tokens=1) for _ in range(32)]
        rewarded = [turn["token_ids"][0] % 2 == 0 for turn in turns]
        mean = sum(rewarded) / len(rewarded)
        rows = [
            {"trajectory_id": str(k), "group": "task", "advantage": 2 * (reward - mean), "turns": [turn]}
            for k, (reward, turn) in enumerate(zip(rewarded, turns, strict=True))
        ]
        make_update(train_state, reference, read_batch(rows, settings), settings)
        probabilities.append(probability_of_even(train_state, prompt))
    assert probabilities[0] < 0.5
    assert probabilities[-1] > 0.55  # 0.67 to 0.70 over three seeds


@torch.no_grad()
def probability_of_even(train_state: TrainState, prompt: list[int]) -> float:
    logits = train_state.model(input_ids=torch.tensor([prompt])).logits[0, -1]
    return float(logits.softmax(-1)[::2].sum())


def test_ppos_value_head_predicts_which_task_is_rewarded(
    rows: Rows, read_batch: ReadBatch, trained: Path
) -> None:
    settings = PpoSettings(learning_rate=1e-3, value_learning_rate=1e-2, gae_lambda=1.0)
    rewarded = [{**row, "reward": float(row["group"] == "task-0")} for row in rows]
    batch = read_batch(rewarded, settings)
    train_state, reference = load_train_state(trained, settings), load_frozen(trained)
    losses = [make_update(train_state, reference, batch, settings).metrics["value_loss"] for _ in range(25)]
    assert losses[0] == pytest.approx(1 / 3)  # the head predicts 0, and a third of the tokens have return 1
    assert losses[-1] < 0.05
