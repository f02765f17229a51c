"""Rollouts as the policy server records them, sampled from a real policy."""

import random
from pathlib import Path
from typing import Any

import torch

from coevolve_trainer.chat.encoder import ChatEncoder
from job_folder import expert_rows
from loaded_policy import load_model

Rows = list[dict[str, Any]]

ACTION_TOKENS = 6


def rollouts_of(policy: Path, *, tasks: int = 3, attempts: int = 4, seed: int = 1) -> Rows:
    """`attempts` trajectories of two actions at each of `tasks` tasks, with made-up advantages and rewards.

    The second prompt extends the first for even tasks, and spells the first action anew for odd ones.
    """
    model, encoder = load_model(policy), ChatEncoder.load(policy)
    draw, generator = random.Random(seed), torch.Generator().manual_seed(seed)
    rows = []
    for task in range(tasks):
        opening = encoder.prompt_ids(expert_rows(tasks)[task]["messages"][:2])
        for attempt in range(attempts):
            prompt, steps = opening, []
            for _ in range(2):
                step = sample(model, prompt, generator)
                steps.append(step)
                prompt = [*prompt, *(step["token_ids"] if task % 2 == 0 else [5, 6]), *opening[:4]]
            rows.append(
                {
                    "trajectory_id": f"task-{task}/{attempt}",
                    "group": f"task-{task}",
                    "advantage": draw.uniform(-2, 2),
                    "reward": float(draw.random() < 0.5),
                    "steps": steps,
                }
            )
    return rows


@torch.no_grad()
def sample(
    model: Any, prompt: list[int], generator: torch.Generator, tokens: int = ACTION_TOKENS
) -> dict[str, Any]:
    ids, logprobs = list(prompt), []
    for _ in range(tokens):
        logp = model(input_ids=torch.tensor([ids])).logits[0, -1].log_softmax(-1)
        ids.append(int(torch.multinomial(logp.exp(), 1, generator=generator)))
        logprobs.append(logp[ids[-1]].item())
    return {"prompt_token_ids": prompt, "token_ids": ids[len(prompt) :], "logprobs": logprobs}
