"""Rows in which beginnings are shared: the same log-probabilities and gradients as of each sequence alone."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from coevolve_trainer.chat.encoder import Segment
from coevolve_trainer.data.packed_batch import pack_trajectories
from coevolve_trainer.data.prefix_tree import PrefixNode, build_prefix_tree, common_prefix_length
from coevolve_trainer.losses.scorer import PolicyScorer
from loaded_policy import load_model

ids_strategy = st.lists(st.integers(3, 5), min_size=2, max_size=30)
segment_strategy = ids_strategy.flatmap(
    lambda ids: st.lists(st.booleans(), min_size=len(ids) - 1, max_size=len(ids) - 1).map(
        lambda mask: Segment(ids, [0, *map(int, mask[:-1]), 1])
    )
)


def spelt(end: PrefixNode | None) -> list[int]:
    return [] if end is None else [*spelt(end.parent), *end.tokens]


@given(st.lists(st.lists(st.integers(0, 2), max_size=12), min_size=1, max_size=10), st.integers(1, 6))
def test_a_tree_spells_every_sequence_and_holds_no_more_tokens_than_they_do(
    sequences: list[list[int]], least: int
) -> None:
    tree = build_prefix_tree(sequences, min_saved_tokens=least)
    assert [spelt(end) for end in tree.leaves] == sequences
    assert tree.tokens <= sum(map(len, sequences))
    if least == 1:  # every beginning is shared: as many tokens as there are different beginnings
        beginnings = {tuple(s[:n]) for s in sequences for n in range(1, len(s) + 1)}
        assert tree.tokens == len(beginnings)


@given(st.lists(st.integers(0, 1), max_size=9), st.lists(st.integers(0, 1), max_size=9))
def test_a_common_beginning_is_found_to_its_last_token(one: list[int], other: list[int]) -> None:
    length = common_prefix_length(one, other)
    assert one[:length] == other[:length]
    assert length == min(len(one), len(other)) or one[length] != other[length]


@pytest.fixture(scope="module")
def models(trained: Path) -> tuple[Any, PolicyScorer]:
    """One that computes row by row as transformers does, and one that scores, with the same weights."""
    return load_model(trained), PolicyScorer(load_model(trained))


def one_by_one(model: Any, trajectories: Sequence[Sequence[Segment]]) -> Tensor:
    found = []
    for segment in (s for trajectory in trajectories for s in trajectory):
        logp = model(input_ids=torch.tensor([segment.input_ids])).logits[0].log_softmax(-1)
        spoken = [t for t in range(1, len(segment.input_ids)) if segment.action_mask[t]]
        found.append(logp[[t - 1 for t in spoken], [segment.input_ids[t] for t in spoken]])
    return torch.cat(found)


def gradients(model: Any, loss: Tensor) -> list[Tensor]:
    return list(torch.autograd.grad(loss, list(model.parameters()), allow_unused=True))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.lists(segment_strategy, min_size=1, max_size=2), min_size=1, max_size=5),
    st.sampled_from([(0, 0), (3, 50), (1000, 1000)]),
)
def test_shared_beginnings_change_no_log_probability_and_no_gradient(
    models: tuple[Any, PolicyScorer], trajectories: list[list[Segment]], cost: tuple[int, int]
) -> None:
    plain, scorer = models
    rows = pack_trajectories(trajectories, 0, block_cost=cost[0], max_padding=cost[1])
    found, expected = scorer(rows).logp, one_by_one(plain, trajectories)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    owners = [
        o for o, trajectory in enumerate(trajectories) for s in trajectory for _ in range(sum(s.action_mask))
    ]
    assert rows.trajectory_index.tolist() == owners
    weight = torch.linspace(-1, 1, len(found))
    pairs = zip(
        gradients(scorer, (weight * found).sum()), gradients(plain, (weight * expected).sum()), strict=True
    )
    for one, other in pairs:
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)


def test_the_sides_of_a_pair_share_their_prompt_and_what_they_say_alike() -> None:
    prompt, said = list(range(10, 60)), [7] * 20
    sides = [
        [Segment([*prompt, *said, *own], [0] * 50 + [1] * (20 + len(own)))] for own in ([1, 2, 3], [4, 5])
    ]
    rows = pack_trajectories(sides, 0)
    # What they end with predicts nothing; after the twentieth word they part
    assert len(rows.input_ids) == 70 + 2 + 1
    assert len(rows.target_ids) == 20 + 3 + 2
    assert rows.action_counts.tolist() == [23, 22]
    assert [(b.node_count, b.width, b.prefix) for b in rows.blocks] == [
        (1, 70, ()),
        (1, 2, (0,)),
        (1, 1, (0,)),
    ]
