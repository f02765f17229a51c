"""Rollouts in the policy server's format, sampled from a real policy."""

import random
from pathlib import Path
from typing import Any

import torch

from coevolve_trainer.chat.encoder import ChatEncoder
from job_folder import expert_rows
from loaded_policy import load_model

Rows = list[dict[str, Any]]

ACTION_TOKENS = 6


def sample_rollouts(policy: Path, *, tasks: int = 3, attempts: int = 4, seed: int = 1) -> Rows:
    """Samples `attempts` trajectories of two actions for each task, with random advantages and rewards.

    The second prompt extends the first for even tasks; for odd ones the first action's ids differ.
    """
    model, encoder = load_model(policy), ChatEncoder.load(policy)
    draw, generator = random.Random(seed), torch.Generator().manual_seed(seed)
    rows = []
    for task in range(tasks):
        first_prompt = encoder.prompt_ids(expert_rows(tasks)[task]["messages"][:2])
        for attempt in range(attempts):
            prompt, turns = first_prompt, []
            for _ in range(2):
                turn = sample_turn(model, prompt, generator)
                turns.append(turn)
                prompt = [*prompt, *(turn["token_ids"] if task % 2 == 0 else [5, 6]), *first_prompt[:4]]
            rows.append(
                {
                    "trajectory_id": f"task-{task}/{attempt}",
                    "group": f"task-{task}",
                    "advantage": draw.uniform(-2, 2),
                    "reward": float(draw.random() < 0.5),
                    "turns": turns,
                }
            )
    return rows


@torch.no_grad()
def sample_turn(
    model: Any, prompt: list[int], generator: torch.Generator, tokens: int = ACTION_TOKENS
) -> dict[str, Any]:
    ids, logprobs = list(prompt), []
    for _ in range(tokens):
        logp = model(input_ids=torch.tensor([ids])).logits[0, -1].log_softmax(-1)
        ids.append(int(torch.multinomial(logp.exp(), 1, generator=generator)))
        logprobs.append(logp[ids[-1]].item())
    return {"prompt_token_ids": prompt, "token_ids": ids[len(prompt) :], "logprobs": logprobs}
