"""InterCode's reward for SQL: overlap of the two answers, times agreement of their order."""

import math
from collections import Counter
from collections.abc import Sequence

from coevolve_environments.plugins.intercode_sql.engine import Row


def score(answer: Sequence[Row] | None, gold: Sequence[Row], *, ordered: bool = True) -> float:
    """Returns IoU of the row multisets x Kendall's tau-b of the order of the shared rows, in [-1, 1]; without
    tau if the rows of the task have no order.

    Source: Yang et al. 2023, arXiv:2306.14898, section 3.2 and the published SQL environment: rows compare by
    their text, the two lists of shared rows are correlated index by index, and an undefined tau (one shared
    row, or all equal) leaves the overlap unchanged. Two differences: the product is not rounded to two
    digits, which would make 0.995 a success; and None (no valid answer) scores 0.
    """
    if answer is None:
        return 0.0
    ours, theirs = [str(row) for row in answer], [str(row) for row in gold]
    if ours == theirs:
        return 1.0
    shared = Counter(ours) & Counter(theirs)
    union = Counter(ours) | Counter(theirs)
    overlap = shared.total() / union.total()
    if not ordered:
        return overlap
    tau = kendall_tau(_keep(ours, shared), _keep(theirs, shared))
    return overlap if tau is None else overlap * tau


def kendall_tau(left: Sequence[str], right: Sequence[str]) -> float | None:
    """Returns tau-b of two sequences of equal length, in [-1, 1], with ties; None if undefined.

    Knight's method: sorts by left then right, and counts the exchanges of a sort by right.
    """
    pairs = sorted(zip(left, right, strict=True))
    total = _pairs(len(pairs))
    left_ties, right_ties = _ties(left), _ties(right)
    if total in (left_ties, right_ties):
        return None
    both_ties = sum(_pairs(count) for count in Counter(pairs).values())
    exchanges = _exchanges([second for _, second in pairs])
    concordant_minus_discordant = total - left_ties - right_ties + both_ties - 2 * exchanges
    return concordant_minus_discordant / math.sqrt((total - left_ties) * (total - right_ties))


def _keep(rows: Sequence[str], shared: Counter[str]) -> list[str]:
    """Returns the shared rows with their common multiplicity, in the order of `rows`."""
    left = Counter(shared)
    kept = []
    for row in rows:
        if left[row] > 0:
            left[row] -= 1
            kept.append(row)
    return kept


def _pairs(count: int) -> int:
    return count * (count - 1) // 2


def _ties(values: Sequence[str]) -> int:
    return sum(_pairs(count) for count in Counter(values).values())


def _exchanges(values: list[str]) -> int:
    """Returns the number of adjacent exchanges of a stable merge sort; ties need none."""
    if len(values) < 2:
        return 0
    middle = len(values) // 2
    head, tail = values[:middle], values[middle:]
    count = _exchanges(head) + _exchanges(tail)
    merged = 0
    head.sort()
    tail.sort()
    for value in tail:
        while merged < len(head) and head[merged] <= value:
            merged += 1
        count += len(head) - merged
    return count
