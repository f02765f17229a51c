"""Sampling: the right distribution, one random number a token, and no neighbours."""

import numpy as np
import pytest

from coevolve_policy_server.sampling import Sampler, sample_tokens

LOGITS = np.log(np.array([[0.5, 0.3, 0.2, 1e-30]], dtype=np.float32))


def sampler(seed: int, temperature: float = 1.0, top_p: float = 1.0) -> Sampler:
    return Sampler.seeded(seed, temperature=temperature, top_p=top_p)


def shares(temperature: float, top_p: float, draws: int = 4000) -> list[float]:
    one = sampler(11, temperature, top_p)
    tokens = [sample_tokens(LOGITS, [one])[0][0] for _ in range(draws)]
    return [tokens.count(token) / draws for token in range(4)]


@pytest.mark.parametrize(
    ("temperature", "top_p", "expected"),
    [
        (1.0, 1.0, [0.5, 0.3, 0.2, 0]),
        (0.5, 1.0, [0.25 / 0.38, 0.09 / 0.38, 0.04 / 0.38, 0]),  # squared and normed
        (1.0, 0.6, [0.5 / 0.8, 0.3 / 0.8, 0, 0]),  # the smallest set that holds 0.6
        (1.0, 1e-6, [1, 0, 0, 0]),
    ],
)
def test_tokens_come_with_the_share_of_their_probability(
    temperature: float, top_p: float, expected: list[float]
) -> None:
    assert shares(temperature, top_p) == pytest.approx(expected, abs=0.025)  # 3 standard errors


def test_greedy_takes_the_lowest_id_of_equals() -> None:
    logits = np.array([[0.0, 2.0, 2.0, 1.0]], dtype=np.float32)
    assert sample_tokens(logits, [sampler(1, temperature=0)])[0] == [1]


def test_the_logprob_is_that_of_the_raw_logits_at_any_temperature() -> None:
    for temperature in (0.0, 0.3, 5.0):
        (token,), (logprob,) = sample_tokens(LOGITS, [sampler(3, temperature)])
        assert logprob == pytest.approx(LOGITS[0, token], abs=1e-5)


def test_a_row_draws_the_same_token_alone_and_among_others() -> None:
    logits = np.random.default_rng(0).normal(size=(32, 300)).astype(np.float32)
    together = sample_tokens(logits, [sampler(row, temperature=row % 3 / 2) for row in range(32)])
    alone = [
        sample_tokens(logits[row : row + 1], [sampler(row, temperature=row % 3 / 2)]) for row in range(32)
    ]
    assert together == ([tokens[0] for tokens, _ in alone], [logprobs[0] for _, logprobs in alone])
