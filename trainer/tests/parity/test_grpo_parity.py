"""Eq. 1 of "CoEvolve" (arXiv:2604.15840v1) and TRL's GRPOTrainer on the same tokens and advantages.

The definitions coincide at TRL's `loss_type="bnpo"`, the mean over the action tokens of all rows it is given,
with importance weights per token, `epsilon` and `epsilon_high` our two bounds, `beta` the weight of the k3
estimate, and `use_bias_correction_kl=False`: its default multiplies that estimate by the ratio. This is our
`aggregation: batch`. Eq. 1 takes the mean within each group first: TRL's loss on each group alone, averaged.
With one group the three are one. TRL's default, `dapo`, divides by the tokens of a whole generation batch.
"""

import random
from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from torch import Tensor
from transformers import AutoTokenizer, PreTrainedModel
from trl import GRPOConfig, GRPOTrainer

from coevolve_trainer.files.atomic_files import sha256_of_file
from job_folder import resident_job
from token_rows import TokenRow, made_up_pairs, steps_of
from trl_run import load, trained_parameters
from watched_run import NO_CLIPPING, assert_equal, first_gradient

ROWS_OF_A_GROUP, CLIP_LOW, CLIP_HIGH, KL = 4, 0.2, 0.28, 0.05


class Rollouts:
    """Made-up rows with what a server would have recorded: log-probabilities of an older policy."""

    def __init__(self, groups: int, policy: PreTrainedModel, reference: PreTrainedModel) -> None:
        draw = random.Random(9)
        pairs = made_up_pairs(groups * ROWS_OF_A_GROUP // 2, vocabulary=300, padded=True)
        self.rows = [row for pair in pairs for row in pair]
        self.groups = [i // ROWS_OF_A_GROUP for i in range(len(self.rows))]
        self.advantages = [draw.uniform(-2, 2) for _ in self.rows]
        self.reference = [logprobs(reference, row) for row in self.rows]
        now = [logprobs(policy, row) for row in self.rows]
        self.old = [[min(0.0, logp + draw.gauss(0, 0.6)) for logp in row] for row in now]

    def lines(self) -> list[dict[str, Any]]:
        """As a resident job reads them."""
        return [self._line(i, row) for i, row in enumerate(self.rows)]

    def trl_inputs(self, chosen: list[int]) -> dict[str, Tensor]:
        """As GRPOTrainer's loss reads them: the first token is prompt, the rest completion under a mask."""

        def column(values: list[list[Any]], dtype: torch.dtype) -> Tensor:
            width = max(len(self.rows[i].ids) for i in chosen) - 1
            rows = [values[i][1:] + [0] * (width - len(values[i]) + 1) for i in chosen]
            return torch.tensor(rows, dtype=dtype)

        prompts = torch.tensor([[self.rows[i].ids[0]] for i in chosen])
        return {
            "prompt_ids": prompts,
            "prompt_mask": torch.ones_like(prompts),
            "completion_ids": column([row.ids for row in self.rows], torch.long),
            "completion_mask": column([[1] * len(row.ids) for row in self.rows], torch.long),
            "tool_mask": column([row.mask for row in self.rows], torch.long),
            "advantages": torch.tensor([self.advantages[i] for i in chosen]),
            "old_per_token_logps": column(self.old, torch.float32),
            "ref_per_token_logps": column(self.reference, torch.float32),
        }

    def _line(self, index: int, row: TokenRow) -> dict[str, Any]:
        steps: list[dict[str, Any]] = [dict(step) for step in steps_of(row)]
        for step in steps:
            start = len(step["prompt_token_ids"])
            step["logprobs"] = self.old[index][start : start + len(step["token_ids"])]
        named = {"trajectory_id": f"rollout-{index}", "group": f"group-{self.groups[index]}"}
        return {**named, "advantage": self.advantages[index], "steps": steps}


@torch.no_grad()
def logprobs(model: PreTrainedModel, row: TokenRow) -> list[float]:
    """Of every token of the row, nats; 0 for the first."""
    ids = torch.tensor([row.ids])
    logp = model(input_ids=ids).logits[0, :-1].log_softmax(-1)
    return [0.0, *logp.gather(-1, ids[0, 1:, None]).squeeze(-1).tolist()]


def trl_loss(
    policy: Path, rollouts: Rollouts, folder: Path, *, by_group: bool
) -> tuple[float, dict[str, Tensor]]:
    """The loss of GRPOTrainer on the whole batch, or on each group and averaged, and its gradient."""
    arguments = GRPOConfig(
        output_dir=str(folder),
        loss_type="bnpo",
        epsilon=CLIP_LOW,
        epsilon_high=CLIP_HIGH,
        beta=KL,
        use_bias_correction_kl=False,
        per_device_train_batch_size=ROWS_OF_A_GROUP,
        num_generations=ROWS_OF_A_GROUP,
        bf16=False,
        gradient_checkpointing=False,
        use_cpu=True,
        report_to="none",
    )
    trainer = GRPOTrainer(
        model=load(policy),
        reward_funcs=lambda completions, **_: [0.0] * len(completions),
        args=arguments,
        train_dataset=Dataset.from_list([{"prompt": "a"}]),
        processing_class=AutoTokenizer.from_pretrained(policy),
    )
    trainer.model.eval()  # else it divides by the accumulation steps of a loop that does not run here
    everything = list(range(len(rollouts.rows)))
    parts = [everything]
    if by_group:
        parts = [[i for i in everything if rollouts.groups[i] == g] for g in sorted(set(rollouts.groups))]
    loss = torch.stack(
        [trainer.compute_loss(trainer.model, rollouts.trl_inputs(part)) for part in parts]
    ).mean()
    loss.backward()  # type: ignore[no-untyped-call]
    return loss.item(), {n: p.grad for n, p in trainer.model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize(
    ("aggregation", "groups"),
    [("group", 1), ("batch", 3), ("group", 3)],
    ids=["one group", "all tokens alike", "Eq. 1 over three groups"],
)
def test_loss_and_gradient_are_those_of_trl(
    aggregation: str, groups: int, base: Path, trained: Path, tmp_path: Path
) -> None:
    rollouts = Rollouts(groups, load(trained), load(base))
    settings = {
        "aggregation": aggregation,
        "clip_low": CLIP_LOW,
        "clip_high": CLIP_HIGH,
        "kl_coefficient": KL,
        "max_grad_norm": NO_CLIPPING,
        "device": "cpu",
    }
    reference = {"reference": str(base), "reference_hash": sha256_of_file(base / "manifest.json")}
    job = resident_job(tmp_path / "ours", trained, steps=1, settings=settings, **reference)
    job.submit(1, rollouts.lines())
    with first_gradient() as found:
        assert job.run() == 0, job.status["failure"]
    update = job.status["policies"][0]
    assert update["metrics"]["clipped_low"] > 0
    assert update["metrics"]["clipped_high"] > 0

    loss, gradient = trl_loss(trained, rollouts, tmp_path / "trl", by_group=aggregation == "group")
    assert update["loss"] == pytest.approx(loss, abs=1e-5)
    for name, (_, own) in zip(trained_parameters(load(trained)), found, strict=True):
        assert_equal(name, own, gradient[name])
