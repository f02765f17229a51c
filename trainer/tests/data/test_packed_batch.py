"""Packed rows with shared prefixes give the log-probabilities and gradients of the separate sequences."""

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


def tokens_until(node: PrefixNode | None) -> list[int]:
    return [] if node is None else [*tokens_until(node.parent), *node.tokens]


@given(st.lists(st.lists(st.integers(0, 2), max_size=12), min_size=1, max_size=10), st.integers(1, 6))
def test_a_prefix_tree_contains_every_sequence_and_no_additional_token(
    sequences: list[list[int]], min_saved_tokens: int
) -> None:
    tree = build_prefix_tree(sequences, min_saved_tokens=min_saved_tokens)
    assert [tokens_until(leaf) for leaf in tree.leaves] == sequences
    assert tree.tokens <= sum(map(len, sequences))
    if min_saved_tokens == 1:  # every prefix is shared: one token per distinct prefix
        prefixes = {tuple(s[:n]) for s in sequences for n in range(1, len(s) + 1)}
        assert tree.tokens == len(prefixes)


@given(st.lists(st.integers(0, 1), max_size=9), st.lists(st.integers(0, 1), max_size=9))
def test_the_common_prefix_is_the_longest(one: list[int], other: list[int]) -> None:
    length = common_prefix_length(one, other)
    assert one[:length] == other[:length]
    assert length == min(len(one), len(other)) or one[length] != other[length]


@pytest.fixture(scope="module")
def models(trained: Path) -> tuple[Any, PolicyScorer]:
    """A model of transformers and a scorer with the same weights."""
    return load_model(trained), PolicyScorer(load_model(trained))


def separate_logprobs(model: Any, trajectories: Sequence[Sequence[Segment]]) -> Tensor:
    """Returns the log-probabilities of the action tokens, with a forward pass per segment."""
    found = []
    for segment in (s for trajectory in trajectories for s in trajectory):
        logp = model(input_ids=torch.tensor([segment.input_ids])).logits[0].log_softmax(-1)
        actions = [t for t in range(1, len(segment.input_ids)) if segment.action_mask[t]]
        found.append(logp[[t - 1 for t in actions], [segment.input_ids[t] for t in actions]])
    return torch.cat(found)


def gradients(model: Any, loss: Tensor) -> list[Tensor]:
    return list(torch.autograd.grad(loss, list(model.parameters()), allow_unused=True))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.lists(segment_strategy, min_size=1, max_size=2), min_size=1, max_size=5),
    st.sampled_from([(0, 0), (3, 50), (1000, 1000)]),
)
def test_shared_prefixes_change_no_log_probability_and_no_gradient(
    models: tuple[Any, PolicyScorer], trajectories: list[list[Segment]], cost: tuple[int, int]
) -> None:
    plain, scorer = models
    packed = pack_trajectories(trajectories, 0, block_cost=cost[0], max_padding=cost[1])
    found, expected = scorer(packed).logp, separate_logprobs(plain, trajectories)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    owners = [
        o for o, trajectory in enumerate(trajectories) for s in trajectory for _ in range(sum(s.action_mask))
    ]
    assert packed.trajectory_index.tolist() == owners
    weight = torch.linspace(-1, 1, len(found))
    pairs = zip(
        gradients(scorer, (weight * found).sum()), gradients(plain, (weight * expected).sum()), strict=True
    )
    for one, other in pairs:
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)


def test_the_sides_of_a_pair_share_their_prompt_and_their_equal_actions() -> None:
    prompt, equal_action = list(range(10, 60)), [7] * 20
    sides = [
        [Segment([*prompt, *equal_action, *own], [0] * 50 + [1] * (20 + len(own)))]
        for own in ([1, 2, 3], [4, 5])
    ]
    packed = pack_trajectories(sides, 0)
    # The last token of each side predicts nothing; the sides differ after 20 action tokens
    assert len(packed.input_ids) == 70 + 2 + 1
    assert len(packed.target_ids) == 20 + 3 + 2
    assert packed.action_counts.tolist() == [23, 22]
    assert [(b.node_count, b.width, b.prefix) for b in packed.blocks] == [
        (1, 70, ()),
        (1, 2, (0,)),
        (1, 1, (0,)),
    ]
