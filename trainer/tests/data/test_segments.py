"""Turns become rows in which every sampled token occurs once, without tokenization."""

from hypothesis import given
from hypothesis import strategies as st

from coevolve_trainer.data.segments import RecordedTurn, TruncationCounts, merge_turns

ids = st.lists(st.integers(0, 9), max_size=6)
turns_strategy = st.lists(
    st.builds(lambda p, a: RecordedTurn(prompt_token_ids=p, token_ids=a), ids, ids.filter(bool)),
    min_size=1,
    max_size=6,
)


def test_prompts_that_extend_the_row_give_one_row() -> None:
    (row,) = merge_turns(
        [
            {"prompt_token_ids": [1, 2], "token_ids": [3, 4]},
            {"prompt_token_ids": [1, 2, 3, 4, 5], "token_ids": [6]},
        ]
    )
    assert row.input_ids == [1, 2, 3, 4, 5, 6]
    assert row.action_mask == [0, 0, 1, 1, 0, 1]


def test_a_prompt_with_other_ids_for_an_earlier_action_starts_a_new_row() -> None:
    first, second = merge_turns(
        [
            {"prompt_token_ids": [1, 2], "token_ids": [3, 4]},
            {"prompt_token_ids": [1, 2, 34, 5], "token_ids": [6]},
        ]
    )
    assert first.input_ids == [1, 2, 3, 4]
    assert first.action_mask == [0, 0, 1, 1]
    assert second.input_ids == [1, 2, 34, 5, 6]
    assert second.action_mask == [0, 0, 0, 0, 1]


@given(turns_strategy)
def test_the_masked_tokens_are_the_sampled_tokens_in_order(turns: list[RecordedTurn]) -> None:
    rows = merge_turns(turns)
    masked = [i for row in rows for i, m in zip(row.input_ids, row.action_mask, strict=True) if m]
    assert masked == [i for turn in turns for i in turn["token_ids"]]


def test_recorded_logprobs_remain_with_their_tokens_in_every_row() -> None:
    rows = merge_turns(
        [
            {"prompt_token_ids": [1, 2], "token_ids": [3, 4], "logprobs": [-0.5, -0.25]},
            {"prompt_token_ids": [1, 2, 3, 4, 5], "token_ids": [6], "logprobs": [-1.0]},
            {"prompt_token_ids": [1, 9], "token_ids": [3, 7], "logprobs": [-2.0, -3.0]},
        ]
    )
    assert [row.old_logp for row in rows] == [[0, 0, -0.5, -0.25, 0, -1.0], [0, 0, -2.0, -3.0]]
    kept = TruncationCounts().truncate(rows, 3)
    assert [row.old_logp for row in kept] == [[0, 0, -0.5], [0, 0, -2.0]]


@given(turns_strategy)
def test_every_action_follows_the_prompt_from_which_it_was_sampled(turns: list[RecordedTurn]) -> None:
    rows = iter(merge_turns(turns))
    row, end = next(rows), 0
    for turn in turns:
        prompt, action = turn["prompt_token_ids"], turn["token_ids"]
        if end and row.input_ids[:end] != prompt[:end]:
            row, end = next(rows), 0
        end = len(prompt) + len(action)
        assert row.input_ids[:end] == prompt + action


def test_rows_are_truncated_and_rows_without_an_action_dropped_and_both_are_counted() -> None:
    rows = merge_turns(
        [
            {"prompt_token_ids": [1, 2], "token_ids": [3, 4]},
            {"prompt_token_ids": [1, 2, 3, 4, 5], "token_ids": [6, 7]},
            {"prompt_token_ids": [5] * 9, "token_ids": [6]},
        ]
    )
    counts = TruncationCounts()
    assert [row.input_ids for row in counts.truncate(rows, 3)] == [[1, 2, 3]]
    # The first action was truncated, the other two and the second row were dropped
    assert counts == TruncationCounts(
        actions=3, longest_row=10, rows_cut=2, tokens_dropped=4 + 10, actions_dropped=3
    )


@given(turns_strategy, st.integers(1, 12))
def test_kept_and_dropped_tokens_add_up(turns: list[RecordedTurn], max_length: int) -> None:
    rows = merge_turns(turns)
    counts, whole = TruncationCounts(), TruncationCounts()
    kept = sum(len(row.input_ids) for row in counts.truncate(rows, max_length))
    assert sum(len(row.input_ids) for row in rows) == counts.tokens_dropped + kept
    assert counts.rows_cut == sum(len(row.input_ids) > max_length for row in rows)
    whole.truncate(rows, 10**6)
    assert (whole.rows_cut, whole.actions_dropped) == (0, 0)
