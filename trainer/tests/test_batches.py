"""Batches: every example once an epoch, the same order every time, and a mask that needs no mask."""

from pathlib import Path

import torch
from hypothesis import given
from hypothesis import strategies as st

from coevolve_trainer.chat.encoder import ChatEncoder, Segment
from coevolve_trainer.data.batches import pad_rows, plan_epoch, plan_micro_batches
from coevolve_trainer.losses.logprobs import trajectory_logprobs
from coevolve_trainer.models.decoder import load_model
from job_folder import expert_rows


@given(st.lists(st.integers(1, 500), min_size=1, max_size=300), st.integers(1, 16), st.integers(0, 2**63 - 1))
def test_an_epoch_holds_every_example_once_and_only_depends_on_its_arguments(
    lengths: list[int], batch_size: int, seed: int
) -> None:
    plan = plan_epoch(lengths, batch_size, seed=seed, epoch=1)
    assert sorted(i for batch in plan for i in batch) == list(range(len(lengths)))
    assert max(map(len, plan)) <= batch_size
    assert plan == plan_epoch(lengths, batch_size, seed=seed, epoch=1)


@given(st.lists(st.integers(1, 500), min_size=1, max_size=300), st.integers(1, 4000))
def test_micro_batches_hold_every_row_once_and_no_more_tokens_than_asked_unless_one_row_does(
    lengths: list[int], max_tokens: int
) -> None:
    parts = plan_micro_batches(lengths, max_tokens)
    assert sorted(i for part in parts for i in part) == list(range(len(lengths)))
    for part in parts:
        assert len(part) == 1 or len(part) * max(lengths[i] for i in part) <= max_tokens


@torch.no_grad()
def test_a_trajectorys_logprob_is_the_sum_over_its_action_tokens_whatever_its_neighbours(
    trained: Path,
) -> None:
    model, encoder = load_model(trained), ChatEncoder.load(trained)
    segments = [encoder.segment(row["messages"]) for row in expert_rows(5)]
    trajectories = [
        [segments[0]],
        [segments[1], segments[2]],
        [Segment(segments[3].input_ids[:50], [0] * 40 + [1] * 10)],
    ]
    together = trajectory_logprobs(model, pad_rows(trajectories, encoder.pad_id))

    for trajectory, found in zip(trajectories, together, strict=True):
        by_hand = torch.zeros(())
        for ids, mask, _ in trajectory:
            logp = model(input_ids=torch.tensor([ids])).logits[0].log_softmax(-1)
            by_hand += sum(logp[t - 1, ids[t]] for t in range(1, len(ids)) if mask[t])
        torch.testing.assert_close(found, by_hand, atol=1e-4, rtol=1e-5)
