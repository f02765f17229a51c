"""Batches: every example once an epoch, the same order every time; parts: every unit once, and no larger."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from coevolve_trainer.chat.encoder import Segment
from coevolve_trainer.data.epoch_batches import plan_epoch
from coevolve_trainer.data.packing import Packing

sequences = st.lists(st.integers(0, 2), min_size=2, max_size=40)
units_strategy = st.lists(st.lists(sequences, min_size=1, max_size=3), min_size=1, max_size=12)


def spoken(ids: list[int]) -> Segment:
    """A row whose last token is an action."""
    return Segment(ids, [0] * (len(ids) - 1) + [1])


@given(st.lists(st.integers(1, 500), min_size=1, max_size=300), st.integers(1, 16), st.integers(0, 2**63 - 1))
def test_an_epoch_holds_every_example_once_and_only_depends_on_its_arguments(
    lengths: list[int], batch_size: int, seed: int
) -> None:
    plan = plan_epoch(lengths, batch_size, seed=seed, epoch=1)
    assert sorted(i for batch in plan for i in batch) == list(range(len(lengths)))
    assert max(map(len, plan)) <= batch_size
    assert plan == plan_epoch(lengths, batch_size, seed=seed, epoch=1)


@given(units_strategy, st.integers(1, 200), st.integers(0, 12))
def test_parts_hold_every_unit_once_and_no_more_tokens_than_asked_unless_one_unit_does(
    units: list[list[list[int]]], max_tokens: int, block_cost: int
) -> None:
    segments = [[spoken(ids) for ids in unit] for unit in units]
    packing = Packing(pad_id=0, block_cost=block_cost)
    parts = packing.plan(segments, max_tokens)
    assert sorted(i for part in parts for i in part) == list(range(len(units)))
    for part in parts:
        rows = packing.pack([segments[i] for i in part], max_tokens)
        assert len(part) == 1 or len(rows.input_ids) <= max_tokens
        assert rows.token_count == sum(len(ids) for i in part for ids in units[i])
        assert torch.equal(rows.action_counts, torch.tensor([float(len(units[i])) for i in part]))


def test_attempts_at_one_task_come_together_and_their_prompt_is_computed_once() -> None:
    prompts = [[task] * 60 for task in range(4)]
    units = [[spoken([*prompts[i % 4], i, 1, 2])] for i in range(16)]
    packing = Packing(pad_id=0)
    parts = packing.plan(units, 120)
    assert sorted(sorted(i % 4 for i in part) for part in parts) == [[task] * 4 for task in range(4)]
    assert len(packing.pack([units[i] for i in parts[0]], 120).input_ids) == 60 + 4 * 2
