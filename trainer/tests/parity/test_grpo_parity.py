"""Eq. 1 of "CoEvolve" (arXiv:2604.15840v1) equals the loss of TRL's GRPOTrainer on the same rollouts.

The definitions are equal for TRL's `loss_type="bnpo"`, the mean over the action tokens of all given rows,
with importance weights per token, `epsilon` and `epsilon_high` as our two bounds, `beta` as the weight of the
k3 estimate, and `use_bias_correction_kl=False`: TRL's default multiplies that estimate by the ratio. This is
our `aggregation: batch`. Eq. 1 takes the mean within each group first: the mean of TRL's loss on each group.
With one group both are equal. `aggregation: attempt` is TRL's `loss_type="grpo"`, the mean over each row's
tokens, then over rows. TRL's default, `dapo`, divides by the tokens of a whole generation batch.

Importance weights are TRL's `vllm_importance_sampling_correction` with mode `token_truncate`: the ratio's
denominator is then the trainer's own log-probability, and the weight corrects for the server's.
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
from job_folder import rl_job
from run_comparison import NO_CLIPPING, assert_equal, first_gradient
from token_rows import TokenRow, random_pairs, turns_of
from trl_run import load, trained_parameters

ROWS_PER_GROUP, CLIP_LOW, CLIP_HIGH, KL = 4, 0.2, 0.28, 0.05


class Rollouts:
    """Random rows with recorded log-probabilities of an older policy."""

    def __init__(self, groups: int, policy: PreTrainedModel, reference: PreTrainedModel) -> None:
        draw = random.Random(9)
        pairs = random_pairs(groups * ROWS_PER_GROUP // 2, vocabulary=300, padded=True)
        self.rows = [row for pair in pairs for row in pair]
        self.groups = [i // ROWS_PER_GROUP for i in range(len(self.rows))]
        self.advantages = [draw.uniform(-2, 2) for _ in self.rows]
        self.reference = [logprobs(reference, row) for row in self.rows]
        current = [logprobs(policy, row) for row in self.rows]
        self.old = [[min(0.0, logp + draw.gauss(0, 0.6)) for logp in row] for row in current]
        self.current = current

    def lines(self) -> list[dict[str, Any]]:
        """Returns the lines of an RL job's batch."""
        return [self._line(i, row) for i, row in enumerate(self.rows)]

    def trl_inputs(self, indices: list[int]) -> dict[str, Tensor]:
        """Returns inputs of GRPOTrainer's loss: the first token is the prompt, the rest the completion."""

        def column(values: list[list[Any]], dtype: torch.dtype) -> Tensor:
            width = max(len(self.rows[i].ids) for i in indices) - 1
            rows = [values[i][1:] + [0] * (width - len(values[i]) + 1) for i in indices]
            return torch.tensor(rows, dtype=dtype)

        prompts = torch.tensor([[self.rows[i].ids[0]] for i in indices])
        return {
            "prompt_ids": prompts,
            "prompt_mask": torch.ones_like(prompts),
            "completion_ids": column([row.ids for row in self.rows], torch.long),
            "completion_mask": column([[1] * len(row.ids) for row in self.rows], torch.long),
            "tool_mask": column([row.mask for row in self.rows], torch.long),
            "advantages": torch.tensor([self.advantages[i] for i in indices]),
            "old_per_token_logps": column(self.old, torch.float32),
            "ref_per_token_logps": column(self.reference, torch.float32),
        }

    def importance_inputs(self, indices: list[int], truncation: float) -> dict[str, Tensor]:
        """Returns the inputs for a trainer that corrects for a server which computed `old`."""
        server = self.trl_inputs(indices)["old_per_token_logps"]
        self.old, server_rows = self.current, self.old
        inputs = self.trl_inputs(indices)
        self.old = server_rows
        ratio = torch.exp(inputs["old_per_token_logps"] - server).clamp(max=truncation)
        return inputs | {"importance_sampling_ratio": ratio}

    def _line(self, index: int, row: TokenRow) -> dict[str, Any]:
        turns: list[dict[str, Any]] = [dict(turn) for turn in turns_of(row)]
        for turn in turns:
            start = len(turn["prompt_token_ids"])
            turn["logprobs"] = self.old[index][start : start + len(turn["token_ids"])]
        ids = {"trajectory_id": f"rollout-{index}", "group": f"group-{self.groups[index]}"}
        return {**ids, "advantage": self.advantages[index], "turns": turns}


@torch.no_grad()
def logprobs(model: PreTrainedModel, row: TokenRow) -> list[float]:
    """Returns the log-probability of every token of the row in nats; 0 for the first."""
    ids = torch.tensor([row.ids])
    logp = model(input_ids=ids).logits[0, :-1].log_softmax(-1)
    return [0.0, *logp.gather(-1, ids[0, 1:, None]).squeeze(-1).tolist()]


def trl_loss(
    policy: Path, rollouts: Rollouts, folder: Path, *, aggregation: str, truncation: float = 0.0
) -> tuple[float, dict[str, Tensor]]:
    """Returns GRPOTrainer's loss on the batch, or the mean of its losses on each group, and the gradient.

    With `truncation` the loss has importance weights.
    """
    arguments = GRPOConfig(
        output_dir=str(folder),
        loss_type="grpo" if aggregation == "attempt" else "bnpo",
        epsilon=CLIP_LOW,
        epsilon_high=CLIP_HIGH,
        beta=KL,
        use_bias_correction_kl=False,
        per_device_train_batch_size=ROWS_PER_GROUP,
        num_generations=ROWS_PER_GROUP,
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
    trainer.model.eval()  # in training mode it would divide by the gradient accumulation steps
    all_rows = list(range(len(rollouts.rows)))
    means_over = [all_rows]
    if aggregation == "group":
        means_over = [[i for i in all_rows if rollouts.groups[i] == g] for g in sorted(set(rollouts.groups))]
    trainer.use_vllm = truncation > 0  # only so that the loss reads `importance_sampling_ratio`
    inputs = [
        rollouts.importance_inputs(rows, truncation) if truncation else rollouts.trl_inputs(rows)
        for rows in means_over
    ]
    loss = torch.stack([trainer.compute_loss(trainer.model, part) for part in inputs]).mean()
    loss.backward()  # type: ignore[no-untyped-call]
    return loss.item(), {n: p.grad for n, p in trainer.model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize(
    ("aggregation", "groups", "truncation"),
    [("group", 1, 0.0), ("batch", 3, 0.0), ("group", 3, 0.0), ("attempt", 3, 0.0), ("batch", 3, 1.5)],
    ids=["one group", "over all tokens", "Eq. 1 over three groups", "over attempts", "importance weights"],
)
def test_loss_and_gradient_equal_trl(
    aggregation: str, groups: int, truncation: float, base: Path, trained: Path, tmp_path: Path
) -> None:
    rollouts = Rollouts(groups, load(trained), load(base))
    settings = {
        "aggregation": aggregation,
        "clip_low": CLIP_LOW,
        "clip_high": CLIP_HIGH,
        "kl_coefficient": KL,
        "max_grad_norm": NO_CLIPPING,
        "importance_truncation": truncation,
        "device": "cpu",
    }
    reference = {"reference": str(base), "reference_hash": sha256_of_file(base / "manifest.json")}
    job = rl_job(tmp_path / "ours", trained, steps=1, settings=settings, **reference)
    job.submit(1, rollouts.lines())
    with first_gradient() as found:
        assert job.run() == 0, job.failure
    update = job.status["policies"][0]
    clipped = ("importance_truncated",) if truncation else ("clipped_low", "clipped_high")
    assert all(update["metrics"][name] > 0 for name in clipped)

    loss, gradient = trl_loss(
        trained, rollouts, tmp_path / "trl", aggregation=aggregation, truncation=truncation
    )
    assert update["loss"] == pytest.approx(loss, abs=1e-5)
    for name, (_, ours) in zip(trained_parameters(load(trained)), found, strict=True):
        assert_equal(name, ours, gradient[name])
