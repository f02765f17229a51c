"""The reward, compared with manual values and with the definition of tau."""

import math
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevolve_environments.plugins.intercode_sql.score import kendall_tau, score

ROWS = [("a", 1), ("b", 2), ("c", 3)]
answers = st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 2)), max_size=12)


@pytest.mark.parametrize(
    ("answer", "gold", "expected"),
    [
        (ROWS, ROWS, 1.0),
        (None, ROWS, 0.0),
        ([], ROWS, 0.0),
        (ROWS[:1], ROWS, 1 / 3),  # one shared row has no order: the overlap alone
        (ROWS[:2], ROWS, 2 / 3),
        ([*ROWS, ("d", 4)], ROWS, 3 / 4),
        (ROWS[::-1], ROWS, -1.0),  # same rows, every pair the other way round
        (
            [ROWS[1], ROWS[0], ROWS[2]],
            ROWS,
            1 / 3,
        ),  # b a c against a b c: two pairs of three agree, one does not
        ([ROWS[0]] * 2, ROWS, 1 / 4),  # multisets: one of a, a, b, c
    ],
)
def test_the_score_is_overlap_times_order(
    answer: list[tuple[object, ...]] | None, gold: list[tuple[object, ...]], expected: float
) -> None:
    assert score(answer, gold) == pytest.approx(expected)


@given(answers, answers.filter(bool))
def test_without_order_exactly_the_gold_rows_in_any_order_score_1(
    answer: list[tuple[str, int]], gold: list[tuple[str, int]]
) -> None:
    assert score(gold[::-1], gold, ordered=False) == 1
    assert (score(answer, gold, ordered=False) == 1) == (sorted(answer) == sorted(gold))
    assert score(answer, gold, ordered=False) >= score(answer, gold)


@given(answers, answers.filter(bool))
def test_only_the_gold_rows_in_their_order_score_1(
    answer: list[tuple[str, int]], gold: list[tuple[str, int]]
) -> None:
    value = score(answer, gold)
    assert -1 <= value <= 1
    assert (value == 1) == (answer == gold)


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd")), max_size=15))
def test_tau_equals_its_definition(pairs: list[tuple[str, str]]) -> None:
    left, right = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    products = [
        (sign(left[i], left[j]), sign(right[i], right[j])) for i, j in combinations(range(len(pairs)), 2)
    ]
    spread = sum(a != 0 for a, _ in products) * sum(b != 0 for _, b in products)
    tau = kendall_tau(left, right)
    if spread == 0:
        assert tau is None
    else:
        assert tau == pytest.approx(sum(a * b for a, b in products) / math.sqrt(spread))


def sign(first: str, second: str) -> int:
    return (first > second) - (first < second)
