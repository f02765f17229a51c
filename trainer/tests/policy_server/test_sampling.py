"""Sampling has the correct distribution, and a row's tokens do not depend on other rows."""

import numpy as np
import pytest

from coevolve_policy_server.sampling import Sampler, sample_tokens

LOGITS = np.log(np.array([[0.5, 0.3, 0.2, 1e-30]], dtype=np.float32))


def sampler(seed: int, temperature: float = 1.0, top_p: float = 1.0) -> Sampler:
    return Sampler.seeded(seed, temperature=temperature, top_p=top_p)


def frequencies(temperature: float, top_p: float, draws: int = 4000) -> list[float]:
    one = sampler(11, temperature, top_p)
    tokens = [sample_tokens(LOGITS, [one])[0][0] for _ in range(draws)]
    return [tokens.count(token) / draws for token in range(4)]


@pytest.mark.parametrize(
    ("temperature", "top_p", "expected"),
    [
        (1.0, 1.0, [0.5, 0.3, 0.2, 0]),
        (0.5, 1.0, [0.25 / 0.38, 0.09 / 0.38, 0.04 / 0.38, 0]),  # squared and normalized
        (1.0, 0.6, [0.5 / 0.8, 0.3 / 0.8, 0, 0]),  # the smallest set with probability 0.6
        (1.0, 1e-6, [1, 0, 0, 0]),
    ],
)
def test_tokens_are_sampled_with_their_probability(
    temperature: float, top_p: float, expected: list[float]
) -> None:
    assert frequencies(temperature, top_p) == pytest.approx(expected, abs=0.025)  # 3 standard errors


def test_greedy_sampling_selects_the_lowest_id_among_equal_logits() -> None:
    logits = np.array([[0.0, 2.0, 2.0, 1.0]], dtype=np.float32)
    assert sample_tokens(logits, [sampler(1, temperature=0)])[0] == [1]


def test_the_logprob_is_that_of_the_raw_logits_at_any_temperature() -> None:
    for temperature in (0.0, 0.3, 5.0):
        (token,), (logprob,) = sample_tokens(LOGITS, [sampler(3, temperature)])
        assert logprob == pytest.approx(LOGITS[0, token], abs=1e-5)


def test_a_rows_token_is_the_same_with_and_without_other_rows() -> None:
    logits = np.random.default_rng(0).normal(size=(32, 300)).astype(np.float32)
    together = sample_tokens(logits, [sampler(row, temperature=row % 3 / 2) for row in range(32)])
    alone = [
        sample_tokens(logits[row : row + 1], [sampler(row, temperature=row % 3 / 2)]) for row in range(32)
    ]
    assert together == ([tokens[0] for tokens, _ in alone], [logprobs[0] for _, logprobs in alone])
