"""Simulated long tables as JSON inputs of an analysis."""

from typing import Any

import numpy as np

from coevolve_statistics.checked import ANALYSIS_VERSION
from coevolve_statistics.validity import hash_of_tests

Input = dict[str, Any]


def contrast(plus: str, minus: str) -> dict[str, str]:
    return {"name": f"{plus} - {minus}", "plus": plus, "minus": minus}


def analysis_input(successes: dict[str, list[list[float]]], **changes: Any) -> Input:
    """An input from success by arm, seed and task; the first arm is the control of the primary contrast."""
    minus, plus = list(successes)[:2]
    seeds = len(next(iter(successes.values())))
    return {
        "version": ANALYSIS_VERSION,
        "arms": [{"name": name, "replicaOf": None} for name in successes],
        "look": seeds,
        "looks": [seeds],
        "looksTaken": [],
        "match": {"equal": ["updates"], "within": {"trainedTokens": 0.05}},
        "metric": "success",
        "alpha": 0.05,
        "primary": contrast(plus, minus),
        "secondary": [],
        "ordering": None,
        "margin": 0.05,
        "breakdown": [],
        "futility": None,
        "cells": [
            cell(arm, seed + 1, len(by_seed[seed]))
            for arm, by_seed in successes.items()
            for seed in range(seeds)
        ],
        "scores": [
            score(arm, seed + 1, f"t{task:04}", value)
            for arm, by_seed in successes.items()
            for seed, by_task in enumerate(by_seed)
            for task, value in enumerate(by_task)
        ],
        **changes,
    }


def names(tasks: int) -> list[str]:
    return [f"t{task:04}" for task in range(tasks)]


def cell(arm: str, seed: int, tasks: int = 100, **changes: Any) -> Input:
    return {
        "arm": arm,
        "seed": seed,
        "status": "finished",
        "reason": None,
        "testHash": hash_of_tests(names(tasks)),
        "leakedTasks": 0,
        "copyOf": None,
        "checkpoints": [{"checkpoint": 2, "effort": {"updates": 500, "trainedTokens": 400_000}}],
        **changes,
    }


def score(arm: str, seed: int, task: str, success: float, checkpoint: int = 2) -> Input:
    pattern = "join" if task.endswith(("0", "5")) else "having"
    return {
        "arm": arm,
        "seed": seed,
        "checkpoint": checkpoint,
        "task": task,
        "features": {"pattern": pattern, "difficulty": 2},
        "reward": success,
        "success": success,
    }


def constant(values: list[float], tasks: int = 100) -> list[list[float]]:
    """Success by seed and task with exactly these means."""
    return [[float(task < round(value * tasks)) for task in range(tasks)] for value in values]


def simulated(
    random: np.random.Generator, shape: tuple[int, int, int], run_sd: float, effect: float
) -> tuple[np.ndarray, np.ndarray]:
    """Success of two arms by experiment, seed and task; `effect` and `run_sd` in points of success.

    logit P = a_task + u_seed + v_(arm, seed), with sd(a) = 2.84, so that 24 % of the tasks are discordant
    between two runs of one arm; 0.01 of success is 0.01 / 0.12 of a logit.
    """
    points = 1 / 0.12
    tasks = random.normal(0, 2.84, size=(shape[0], 1, shape[2]))
    seeds = random.normal(0, run_sd * points, size=(shape[0], shape[1], 1))

    def arm(shift: float) -> np.ndarray:
        runs = random.normal(0, run_sd * points, size=(shape[0], shape[1], 1))
        chance = 1 / (1 + np.exp(-(tasks + seeds + runs + shift * points)))
        return (random.random(size=chance.shape) < chance).astype(float)

    return arm(0), arm(effect)
