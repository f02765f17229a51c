"""The batches of an epoch and the micro-batches of an update contain every example once."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from coevolve_trainer.chat.encoder import Segment
from coevolve_trainer.data.epoch_batches import plan_epoch
from coevolve_trainer.data.packing import Packing

sequences = st.lists(st.integers(0, 2), min_size=2, max_size=40)
examples_strategy = st.lists(st.lists(sequences, min_size=1, max_size=3), min_size=1, max_size=12)


def segment_of(ids: list[int]) -> Segment:
    """Returns a row whose last token is an action."""
    return Segment(ids, [0] * (len(ids) - 1) + [1])


@given(st.lists(st.integers(1, 500), min_size=1, max_size=300), st.integers(1, 16), st.integers(0, 2**63 - 1))
def test_an_epoch_contains_every_example_once_and_depends_only_on_its_arguments(
    lengths: list[int], batch_size: int, seed: int
) -> None:
    plan = plan_epoch(lengths, batch_size, seed=seed, epoch=1)
    assert sorted(i for batch in plan for i in batch) == list(range(len(lengths)))
    assert max(map(len, plan)) <= batch_size
    assert plan == plan_epoch(lengths, batch_size, seed=seed, epoch=1)


@given(examples_strategy, st.integers(1, 200), st.integers(0, 12))
def test_micro_batches_contain_every_example_once_and_exceed_the_limit_only_with_a_single_one(
    examples: list[list[list[int]]], max_tokens: int, block_cost: int
) -> None:
    segments = [[segment_of(ids) for ids in example] for example in examples]
    packing = Packing(pad_id=0, block_cost=block_cost)
    plan = packing.plan(segments, max_tokens)
    assert sorted(i for indices in plan for i in indices) == list(range(len(examples)))
    for indices in plan:
        packed = packing.pack([segments[i] for i in indices], max_tokens)
        assert len(indices) == 1 or len(packed.input_ids) <= max_tokens
        assert packed.token_count == sum(len(ids) for i in indices for ids in examples[i])
        assert torch.equal(packed.action_counts, torch.tensor([float(len(examples[i])) for i in indices]))


@given(examples_strategy, st.integers(1, 200))
def test_without_shared_prefixes_every_segment_is_a_row_and_padding_counts(
    examples: list[list[list[int]]], max_tokens: int
) -> None:
    segments = [[segment_of(ids) for ids in example] for example in examples]
    packing = Packing(pad_id=0, shares_prefixes=False)
    plan = packing.plan(segments, max_tokens)
    assert sorted(i for indices in plan for i in indices) == list(range(len(examples)))
    for indices in plan:
        packed = packing.pack([segments[i] for i in indices], max_tokens)
        rows = [len(ids) - 1 for i in indices for ids in examples[i]]  # without the last, predicted token
        widths = [block.width for block in packed.blocks for _ in range(block.node_count)]
        assert sorted(widths) == sorted(rows)
        assert not any(block.prefix for block in packed.blocks)
        assert len(indices) == 1 or len(rows) * max(rows) <= max_tokens


def test_the_attempts_at_a_task_are_in_one_micro_batch_and_their_prompt_is_computed_once() -> None:
    prompts = [[task] * 60 for task in range(4)]
    attempts = [[segment_of([*prompts[i % 4], i, 1, 2])] for i in range(16)]
    packing = Packing(pad_id=0)
    plan = packing.plan(attempts, 120)
    assert sorted(sorted(i % 4 for i in indices) for indices in plan) == [[task] * 4 for task in range(4)]
    assert len(packing.pack([attempts[i] for i in plan[0]], 120).input_ids) == 60 + 4 * 2
