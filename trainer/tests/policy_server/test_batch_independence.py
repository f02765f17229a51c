"""A completion of an adapter in bfloat16 depends on its request alone."""

import asyncio
import random
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from coevolve_policy_server import batch_sizes
from coevolve_policy_server.chat_request import ChatRequest, parse_chat_request
from coevolve_policy_server.decoder import Decoder
from coevolve_policy_server.engine import Engine
from coevolve_policy_server.weights import PolicyWeights
from policy_server_process import QUESTIONS
from random_policies import random_adapter, random_policy

Policy = tuple[Path, str]
Answer = tuple[list[int], list[float]]


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory, base: Path) -> Policy:
    """An adapter over a Llama with grouped query heads and rotation, as SmolLM2 has."""
    store = tmp_path_factory.mktemp("artifacts")
    return random_adapter(random_policy(store, "llama", torch.bfloat16, base)[0])


def requests_of(policy: Policy) -> list[ChatRequest]:
    """First and second turns of eight conversations, and two attempts at each of them."""
    requests = []
    for index in range(32):
        messages = QUESTIONS[index % 8]
        if index % 16 >= 8:
            reply = {"role": "assistant", "content": "SELECT name FROM pets"}
            messages = [*messages, reply, {"role": "user", "content": "5 rows: " + "ann, bob, " * index}]
        sampling = {"seed": index, "temperature": 0.5 + index % 3, "max_tokens": 3 + index % 14}
        requests.append(parse_chat_request({"model": policy[1], "messages": messages, **sampling}))
    return requests


def answers(policy: Policy, rounds: Sequence[Sequence[ChatRequest]], *, slots: int) -> list[list[Answer]]:
    """Answers rounds of concurrent requests, one round after the other, with a new engine.

    In rounds of several requests, they arrive during the first passes, and further ones are cancelled.
    """
    delays = random.Random(slots)

    async def answer(engine: Engine, request: ChatRequest, passes: int) -> Answer:
        for _ in range(passes):
            await asyncio.sleep(0)
        completion = await engine.complete(request)
        return completion.token_ids, completion.logprobs

    async def answer_round(engine: Engine, requests: Sequence[ChatRequest]) -> list[Answer]:
        longest = 40 if len(requests) > 1 else 0
        tasks, cancelled = (
            [asyncio.create_task(answer(engine, request, delays.randint(0, longest))) for request in chosen]
            for chosen in (requests, requests[::5] if longest else [])
        )
        for _ in range(longest):
            await asyncio.sleep(0)
        for task in cancelled:
            task.cancel()
        return await asyncio.gather(*tasks)

    async def run() -> list[list[Answer]]:
        engine = Engine(slots=slots, max_context=512, max_waiting=100)
        await engine.load(policy[1], policy[0])
        async with engine.running():
            return [await answer_round(engine, requests) for requests in rounds]

    return asyncio.run(run())


def test_mix_slot_and_prefix_cache_do_not_change_a_completion(policy: Policy) -> None:
    requests = requests_of(policy)
    alone = {id(r): answers(policy, [[r]], slots=32)[0][0] for r in requests}
    shuffled = [random.Random(seed).sample(requests, count) for seed, count in enumerate((32, 3, 32, 9, 2))]
    for chosen, found in zip(shuffled, answers(policy, shuffled, slots=32), strict=True):
        assert found == [alone[id(request)] for request in chosen]


def test_a_machine_without_equal_rows_computes_each_slot_alone(
    policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kernels whose rows differ by their index, as stand-in for kernels of another processor."""
    monkeypatch.setattr(batch_sizes, "_found", {})
    logits = Decoder.logits

    def by_row(self: Decoder, x: torch.Tensor) -> torch.Tensor:
        return logits(self, x) * (1 + torch.arange(len(x))[:, None] * 1e-3)

    monkeypatch.setattr(Decoder, "logits", by_row)
    assert Decoder(PolicyWeights.open(*policy), slots=8, max_context=512).batch_sizes == ()
    requests = requests_of(policy)[:12]
    alone = [answers(policy, [[request]], slots=8)[0][0] for request in requests]
    assert answers(policy, [requests], slots=8) == [alone]


def test_sizes_whose_rows_differ_from_those_of_all_slots_are_not_used(
    policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_sizes, "_found", {})
    logits = Decoder.logits
    scale = {1: 1.001, 8: 0.999}
    monkeypatch.setattr(Decoder, "logits", lambda self, x: logits(self, x) * scale.get(len(x), 1.0))
    decoder = Decoder(PolicyWeights.open(*policy), slots=20, max_context=512)
    assert {1, 8}.isdisjoint(decoder.batch_sizes)
    assert decoder.batch_sizes[-1] == 20


def test_a_policy_with_nan_weights_does_not_decide_about_the_sizes(
    policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_sizes, "_found", {})
    logits = Decoder.logits
    with monkeypatch.context() as broken:
        broken.setattr(Decoder, "logits", lambda self, x: logits(self, x) * torch.nan)
        assert Decoder(PolicyWeights.open(*policy), slots=8, max_context=512).batch_sizes == (8,)
    assert batch_sizes._found == {}
