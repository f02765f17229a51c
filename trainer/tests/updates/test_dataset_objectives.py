"""The losses and gradients of micro-batches add up to the whole batch, for every split."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch

from coevolve_trainer.chat.encoder import Segment
from coevolve_trainer.data.dataset import Example
from coevolve_trainer.data.packed_batch import PackedBatch
from coevolve_trainer.data.packing import Packing
from coevolve_trainer.losses.scorer import PolicyScorer, Scores
from coevolve_trainer.process_group import ProcessGroup
from coevolve_trainer.settings import DpoSettings, TargetSettings
from coevolve_trainer.updates.dataset_objectives import PairObjective, SftObjective
from coevolve_trainer.updates.update import accumulate_gradients
from loaded_policy import load_model

PACKING = Packing(pad_id=0)


@pytest.mark.parametrize("method", ["sft", "dpo", "target"])
def test_the_losses_and_gradients_of_micro_batches_of_any_size_add_up_to_those_of_the_batch(
    method: str, mixed_examples: list[Example], trained: Path
) -> None:
    examples = [e for e in mixed_examples if method == "target" or bool(e.rejected) == (method == "dpo")]
    reference = torch.linspace(-40, -20, 2 * len(examples)).view(-1, 2)
    objective: Any = SftObjective(examples, PACKING)
    if method != "sft":
        settings = DpoSettings() if method == "dpo" else TargetSettings()
        objective = PairObjective(examples, PACKING, reference, settings)
    found = []
    for max_tokens in (8, 150, 400, 10**6):
        model = load_model(trained)
        micro_batches = objective.split(list(range(len(examples))), max_tokens)
        totals = accumulate_gradients(objective, micro_batches, PolicyScorer(model), ProcessGroup())
        gradient = torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])
        found.append((len(micro_batches), totals, gradient))
    counts = [count for count, _, _ in found]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] == len(examples)
    _, expected, expected_gradient = found[0]
    for _, totals, gradient in found[1:]:
        assert totals.loss == pytest.approx(expected.loss, abs=1e-6)
        assert totals.tokens == expected.tokens
        assert totals.means() == pytest.approx(expected.means(), abs=1e-4)
        torch.testing.assert_close(gradient, expected_gradient, atol=1e-6, rtol=1e-4)


def test_the_target_loss_of_two_pairs_equals_a_computation_by_hand() -> None:
    # Log-probabilities per token: chosen -0.5 and -1, rejected -1 and -0.5; 4 and 2 action tokens per side.
    # Margins 0.1 * (-2 + 4) = 0.2 and 0.1 * (-2 + 1) = -0.1; NLL per token of the chosen sides 0.5 and 1
    def side(tokens: int, first: int) -> list[Segment]:
        return [Segment([first, *[7] * tokens], [0] + [1] * tokens)]

    examples = [
        Example(side(4, 1), side(4, 2), lambda_dpo=0.5, lambda_sft=0.5),  # expert and target
        Example(side(2, 3), side(2, 4), lambda_dpo=1.0, lambda_sft=0.0),  # failure and failure
    ]
    logp_of_side = torch.tensor([-0.5, -1.0, -1.0, -0.5])  # both chosen sides, both rejected sides

    def scorer(packed: PackedBatch) -> Scores:
        return Scores(logp_of_side[packed.trajectory_index], None)

    objective = PairObjective(examples, PACKING, torch.zeros(2, 2), TargetSettings())
    (micro_batch,) = objective.split([0, 1], 10**6)
    by_hand = [0.5 * math.log(1 + math.exp(-0.2)) + 0.5 * 0.5, math.log(1 + math.exp(0.1))]
    result = objective.loss(scorer, micro_batch)
    assert result.loss.item() == pytest.approx(sum(by_hand) / 2, abs=1e-6)
    assert result.metric_sums["accuracy"] == (1.0, 2)
