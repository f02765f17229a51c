"""Samples one token per row; the token depends only on the row's logits and random number."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Sampler:
    """Sampling parameters of one request. `temperature` 0 is greedy, `top_p` 1 keeps all tokens."""

    temperature: float
    top_p: float
    random: np.random.Generator

    @classmethod
    def seeded(cls, seed: int, *, temperature: float, top_p: float) -> Sampler:
        return cls(temperature, top_p, np.random.Generator(np.random.Philox(seed % 2**64)))


def sample_tokens(logits: Floats, samplers: list[Sampler]) -> tuple[list[int], list[float]]:
    """Returns tokens [N] and their log-probabilities [N] for logits [N, V].

    The log-probability is the log-softmax of the raw logits: temperature 1, before top_p. Greedy decoding
    selects the lowest id among equal logits. Every sampled token uses exactly one random number of its
    request.
    """
    shifted = logits - logits.max(axis=1, keepdims=True)
    norm = np.log(np.exp(shifted).sum(axis=1))
    tokens = shifted.argmax(axis=1)
    sampled = [row for row, sampler in enumerate(samplers) if sampler.temperature > 0]
    if sampled:
        tokens[sampled] = _draw(shifted[sampled], [samplers[row] for row in sampled])
    logprobs = shifted[np.arange(len(tokens)), tokens] - norm
    return tokens.tolist(), logprobs.tolist()


def _draw(shifted: Floats, samplers: list[Sampler]) -> npt.NDArray[np.int64]:
    """Inverts the cumulative distribution at one uniform number per row."""
    temperature = np.array([sampler.temperature for sampler in samplers], dtype=np.float32)
    weights = np.exp(shifted / temperature[:, None])
    for row, sampler in enumerate(samplers):
        if sampler.top_p < 1:
            weights[row] = _nucleus(weights[row], sampler.top_p)
    cumulative = weights.cumsum(axis=1, dtype=np.float64)
    uniform = np.array([sampler.random.random() for sampler in samplers])
    # Strictly greater than the target, so that a token of weight 0 is never selected
    return np.asarray((cumulative <= (uniform * cumulative[:, -1])[:, None]).sum(axis=1))


def _nucleus(weights: Floats, top_p: float) -> Floats:
    """Keeps the smallest set of most likely tokens whose probability reaches `top_p`; at least one."""
    order = np.argsort(-weights, kind="stable")
    before = weights[order].cumsum(dtype=np.float64) - weights[order]
    kept = order[before < top_p * weights.sum(dtype=np.float64)]
    nucleus = np.zeros_like(weights)
    nucleus[kept] = weights[kept]
    return nucleus
