"""Random multi-turn trajectories as token rows with action masks, and dataset files of them."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from job_folder import write_rows


class TokenRow(NamedTuple):
    ids: list[int]
    mask: list[int]  # 1 for action tokens


Pair = tuple[TokenRow, TokenRow]  # chosen, rejected


def random_pairs(count: int, *, vocabulary: int, padded: bool) -> list[Pair]:
    """Returns pairs with a common prompt and three actions per side, with observations between them.

    The rows have different lengths, so that a batch is padded, or the same length.
    """
    draw = random.Random(5)

    def tokens(min_length: int, max_length: int) -> list[int]:
        length = draw.randint(min_length, max_length) if padded else max_length
        return [draw.randrange(3, vocabulary) for _ in range(length)]

    def row(prompt: list[int]) -> TokenRow:
        ids, mask = list(prompt), [0] * len(prompt)
        for turn in range(3):
            action, observation = tokens(1, 7), tokens(2, 9) if turn < 2 else []
            ids += action + observation
            mask += [1] * len(action) + [0] * len(observation)
        return TokenRow(ids, mask)

    return [(row(prompt), row(prompt)) for prompt in (tokens(4, 12) for _ in range(count))]


def turns_of(row: TokenRow) -> list[dict[str, list[int]]]:
    """Returns the turns of a row as the policy server records them: every action with its prompt."""
    starts = [t for t in range(1, len(row.ids)) if row.mask[t] and not row.mask[t - 1]]
    ends = [next((e for e in range(t, len(row.ids)) if not row.mask[e]), len(row.ids)) for t in starts]
    return [
        {"prompt_token_ids": row.ids[:start], "token_ids": row.ids[start:end]}
        for start, end in zip(starts, ends, strict=True)
    ]


def sft_file(path: Path, rows: Sequence[TokenRow]) -> Path:
    return write_rows(path, [{"trajectory_id": str(i), "turns": turns_of(r)} for i, r in enumerate(rows)])


def pair_file(path: Path, pairs: Sequence[Pair], lambdas: Sequence[tuple[float, float]] = ()) -> Path:
    def line(index: int, pair: Pair) -> dict[str, Any]:
        lambda_dpo, lambda_sft = lambdas[index] if lambdas else (1.0, 0.0)
        sides = zip(("chosen", "rejected"), pair, strict=True)
        return {
            "pair_id": f"pair-{index}",
            "lambda_dpo": lambda_dpo,
            "lambda_sft": lambda_sft,
            **{side: {"trajectory_id": f"{side}-{index}", "turns": turns_of(row)} for side, row in sides},
        }

    return write_rows(path, [line(index, pair) for index, pair in enumerate(pairs)])
