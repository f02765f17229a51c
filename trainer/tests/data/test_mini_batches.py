"""Mini-batches of a batch of rollouts hold whole groups, each once per epoch."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from coevolve_trainer.chat.encoder import Segment
from coevolve_trainer.data.mini_batches import plan_mini_batches, select_groups
from coevolve_trainer.data.rollout_batch import RolloutBatch
from coevolve_trainer.data.segments import TruncationCounts


def batch_of(groups: list[int]) -> RolloutBatch:
    """Returns a trajectory per entry, of two rows; the first row of trajectory i has i + 1 action tokens."""
    segments, ranges, trajectory = list[Segment](), list[range](), list[int]()
    for i in range(len(groups)):
        for actions in (i + 1, 1):
            ranges.append(range(len(trajectory), len(trajectory) + actions))
            segments.append(Segment([i] * (actions + 1), [0] + [1] * actions))
            trajectory += [i] * actions
    numbers = {group: number for number, group in enumerate(dict.fromkeys(groups))}
    return RolloutBatch(
        segments=segments,
        token_ranges=ranges,
        old_logp=torch.arange(float(len(trajectory))),
        trajectory=torch.tensor(trajectory),
        group=torch.tensor([numbers[group] for group in groups]),
        score=torch.arange(float(len(groups))),
        truncation=TruncationCounts(),
    )


@given(st.lists(st.integers(0, 5), min_size=1, max_size=12), st.integers(1, 8), st.integers(1, 3))
def test_every_epoch_contains_every_group_once(groups: list[int], count: int, epochs: int) -> None:
    batch = batch_of(groups)
    plan = plan_mini_batches(batch, count, epochs=epochs, seed="7/1")
    assert plan == plan_mini_batches(batch, count, epochs=epochs, seed="7/1")
    per_epoch = min(count, len(set(groups)))
    assert len(plan) == epochs * per_epoch
    for start in range(0, len(plan), per_epoch):
        part = plan[start : start + per_epoch]
        assert sorted(group for chosen in part for group in chosen) == list(range(len(set(groups))))
        assert max(map(len, part)) - min(map(len, part)) <= 1


def test_epochs_have_different_orders_and_one_mini_batch_keeps_the_order() -> None:
    batch = batch_of(list(range(8)))
    plan = plan_mini_batches(batch, 2, epochs=2, seed="7/1")
    assert plan[:2] != plan[2:]
    assert plan_mini_batches(batch, 1, epochs=2, seed="7/1") == [list(range(8))] * 2


@given(st.lists(st.integers(0, 4), min_size=2, max_size=10), st.data())
def test_the_selected_rollouts_are_those_of_the_groups_numbered_again(
    groups: list[int], data: st.DataObject
) -> None:
    batch = batch_of(groups)
    all_groups = sorted(set(batch.group.tolist()))
    chosen = data.draw(st.lists(st.sampled_from(all_groups), min_size=1, unique=True))
    selected, tokens = select_groups(batch, chosen)
    kept = [i for i, group in enumerate(batch.group.tolist()) if group in chosen]
    assert selected.score.tolist() == [float(i) for i in kept]
    assert [segment.input_ids[0] for segment in selected.segments] == [i for i in kept for _ in range(2)]
    assert torch.equal(selected.old_logp, batch.old_logp[tokens])
    assert selected.trajectory.tolist() == [n for n, i in enumerate(kept) for _ in range(i + 2)]
    assert sorted(set(selected.group.tolist())) == list(range(len(chosen)))
    for segment, tokens_of_row in zip(selected.segments, selected.token_ranges, strict=True):
        assert {kept[n] for n in selected.trajectory[list(tokens_of_row)].tolist()} == {segment.input_ids[0]}
