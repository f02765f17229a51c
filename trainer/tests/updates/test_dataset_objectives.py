"""Shares of an update: however it is cut, they add up to the loss of the whole and to its gradient."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from coevolve_trainer.chat.encoder import ChatEncoder, Segment
from coevolve_trainer.data.dataset import Example, read_dataset
from coevolve_trainer.data.packed_batch import PackedBatch
from coevolve_trainer.data.packing import Packing
from coevolve_trainer.losses.scorer import PolicyScorer, Scores
from coevolve_trainer.models.cost import activation_bytes, flops_per_token, needs_checkpointing
from coevolve_trainer.process_group import ProcessGroup
from coevolve_trainer.settings import DpoSettings, TargetSettings
from coevolve_trainer.updates.dataset_objectives import PairObjective, SftObjective
from coevolve_trainer.updates.reference_logprobs import reference_logprobs
from coevolve_trainer.updates.update import accumulate_gradients
from job_folder import expert_rows, pair_rows, write_rows
from loaded_policy import load_model

PACKING = Packing(pad_id=0)


@pytest.fixture(scope="module")
def examples(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Example]:
    rows = [*pair_rows(5), *({**row, "weight": 0.25 * i} for i, row in enumerate(expert_rows(4)))]
    path = write_rows(tmp_path_factory.mktemp("shares") / "rows.jsonl", rows)
    encoder = ChatEncoder.load(trained)
    return read_dataset(path, encoder, pairs=True, demonstrations=True, max_length=512).examples


@pytest.mark.parametrize("method", ["sft", "dpo", "target"])
def test_the_parts_of_any_size_add_up_to_the_same_loss_and_gradient(
    method: str, examples: list[Example], trained: Path
) -> None:
    chosen = [e for e in examples if method == "target" or bool(e.rejected) == (method == "dpo")]
    reference = torch.linspace(-40, -20, 2 * len(chosen)).view(-1, 2)
    objective: Any = SftObjective(chosen, PACKING)
    if method != "sft":
        settings = DpoSettings() if method == "dpo" else TargetSettings()
        objective = PairObjective(chosen, PACKING, reference, settings)
    found = []
    for max_tokens in (8, 150, 400, 10**6):
        model = load_model(trained)
        parts = objective.split(list(range(len(chosen))), max_tokens)
        totals = accumulate_gradients(objective, parts, PolicyScorer(model), ProcessGroup())
        gradient = torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])
        found.append((len(parts), totals, gradient))
    counts = [count for count, _, _ in found]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] == len(chosen)
    for _, totals, gradient in found[1:]:
        assert totals.loss == pytest.approx(found[0][1].loss, abs=1e-6)
        assert totals.tokens == found[0][1].tokens
        assert totals.means() == pytest.approx(found[0][1].means(), abs=1e-4)
        torch.testing.assert_close(gradient, found[0][2], atol=1e-6, rtol=1e-4)


def test_pairs_of_both_kinds_agree_with_a_hand_computation() -> None:
    # Log-probabilities a token: chosen -0.5 and -1, rejected -1 and -0.5; four and two action tokens a side.
    # Margins 0.1 * (-2 + 4) = 0.2 and 0.1 * (-2 + 1) = -0.1; NLL per token of chosen 0.5 and 1
    def side(tokens: int, first: int) -> list[Segment]:
        return [Segment([first, *[7] * tokens], [0] + [1] * tokens)]

    made = [
        Example(side(4, 1), side(4, 2), lambda_dpo=0.5, lambda_sft=0.5),  # expert and target
        Example(side(2, 3), side(2, 4), lambda_dpo=1.0, lambda_sft=0.0),  # failure and failure
    ]
    per_token = torch.tensor([-0.5, -1.0, -1.0, -0.5])  # chosen of both, rejected of both

    def scorer(rows: PackedBatch) -> Scores:
        return Scores(per_token[rows.trajectory_index], None)

    objective = PairObjective(made, PACKING, torch.zeros(2, 2), TargetSettings())
    (part,) = objective.split([0, 1], 10**6)
    by_hand = [0.5 * math.log(1 + math.exp(-0.2)) + 0.5 * 0.5, math.log(1 + math.exp(0.1))]
    share = objective.loss(scorer, part)
    assert share.loss.item() == pytest.approx(sum(by_hand) / 2, abs=1e-6)
    assert share.metric_sums["accuracy"] == (1.0, 2)


def test_the_reference_is_asked_once_and_a_damaged_or_foreign_file_is_not_believed(
    examples: list[Example], trained: Path, tmp_path: Path
) -> None:
    cache, asked = tmp_path / "reference.safetensors", []

    def load() -> PolicyScorer:
        asked.append(1)
        return PolicyScorer(load_model(trained).requires_grad_(False))

    def read(key: str, max_tokens: int = 200) -> Tensor:
        alike = {"packing": PACKING, "max_tokens": max_tokens, "process_group": ProcessGroup()}
        return reference_logprobs(cache, key, load, examples, **alike)  # type: ignore[arg-type]

    first = read("a" * 64)
    assert (first[[not e.rejected for e in examples]] == 0).all()
    assert (first[[bool(e.rejected) for e in examples]] < 0).all()
    assert torch.equal(read("a" * 64), first)
    assert len(asked) == 1
    torch.testing.assert_close(read("b" * 64, 10**6), first, atol=1e-4, rtol=0)
    assert len(asked) == 2
    data = bytearray(cache.read_bytes())
    data[-1] ^= 1
    cache.write_bytes(data)
    torch.testing.assert_close(read("b" * 64), first, atol=1e-4, rtol=0)
    cache.write_bytes(cache.read_bytes()[:100])  # killed while it was written, were it not atomic
    read("b" * 64)
    assert len(asked) == 4


def test_a_pass_is_priced_by_weights_and_length(base: Path) -> None:
    model = load_model(base)
    embedding = model.get_input_embeddings().weight.numel()
    body = sum(p.numel() for p in model.parameters() if p.dim() > 1) - embedding
    attention = 6 * 2 * 4 * 32 * 100  # 6 * layers * heads * head_dim * length
    assert flops_per_token(model, 100, 0.5) == 6 * body + 3 * embedding + attention
    model.requires_grad_(False)
    assert flops_per_token(model, 0, 1.0) == 4 * (body + embedding)
    cpu = torch.device("cpu")
    assert activation_bytes(model, 2000) == 2 * activation_bytes(model, 1000)
    assert not needs_checkpointing(model, 1000, cpu)
    assert needs_checkpointing(model, 10**9, cpu)
