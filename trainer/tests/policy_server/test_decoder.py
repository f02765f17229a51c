"""The fixed-shape decoder: equal to transformers, and the same bits in any slot and any company."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from coevolve_policy_server.decoder import CHUNK, Decoder
from coevolve_policy_server.weights import PolicyWeights
from coevolve_trainer.failures import JobFailure
from random_policies import ARCHITECTURES, plain_logits, random_adapter, random_policy

SLOTS, PROMPT, ANSWER = 32, 150, 12

Opened = Callable[[str, bool, torch.dtype], tuple[Path, str]]


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Opened:
    @cache
    def made(family: str, adapted: bool, dtype: torch.dtype) -> tuple[Path, str]:
        if adapted:
            return random_adapter(made(family, False, dtype)[0])
        return random_policy(tmp_path_factory.mktemp("artifacts"), family, dtype)

    return made


@pytest.fixture(scope="module")
def tokens() -> Tensor:
    return torch.randint(3, 380, (PROMPT + ANSWER,), generator=torch.Generator().manual_seed(5))


def play(policy: tuple[Path, str], tokens: Tensor, *, slot: int, company: bool) -> Tensor:
    """Logits [ANSWER + 1, V] of a request in `slot`; with company, all other slots decode as well."""
    decoder = Decoder(PolicyWeights.open(*policy), slots=SLOTS, max_context=512)
    for start in range(0, PROMPT, CHUNK):
        chunk = tokens[start : min(start + CHUNK, PROMPT)]
        states = decoder.prefill(slot, start, F.pad(chunk, (0, CHUNK - len(chunk))))
    rows = [decoder.logits(states[len(chunk) - 1 : len(chunk)])[0]]
    others = torch.Generator().manual_seed(slot)
    for at in range(PROMPT, PROMPT + ANSWER):
        high = (380, 500) if company else (1, 1)
        ids, positions = (torch.randint(0, h, (SLOTS,), generator=others) for h in high)
        ids[slot], positions[slot] = tokens[at], at
        used = SLOTS if company else slot + 1
        rows.append(decoder.decode(ids, positions, int(positions.max()), used)[slot])
    return torch.stack(rows)


@pytest.mark.parametrize("adapted", [False, True], ids=["whole", "adapter"])
@pytest.mark.parametrize("family", ARCHITECTURES)
def test_logits_equal_a_plain_transformers_forward(
    policy: Opened, tokens: Tensor, family: str, adapted: bool
) -> None:
    opened = policy(family, adapted, torch.float32)
    plain = plain_logits(opened[0], tokens)[PROMPT - 1 :]
    torch.testing.assert_close(play(opened, tokens, slot=3, company=True), plain, atol=1e-4, rtol=1e-5)


@pytest.mark.parametrize("adapted", [False, True], ids=["whole", "adapter"])
@pytest.mark.parametrize("family", ARCHITECTURES)
def test_what_is_stored_in_bfloat16_is_computed_in_it(
    policy: Opened, tokens: Tensor, family: str, adapted: bool
) -> None:
    opened = policy(family, adapted, torch.bfloat16)
    plain = plain_logits(opened[0], tokens)[PROMPT - 1 :].log_softmax(-1)
    found = play(opened, tokens, slot=3, company=False).log_softmax(-1)
    assert 1e-5 < float((found - plain).abs().mean()) < 0.05 * float(plain.std())


@pytest.mark.parametrize("family", ["qwen3", "llama"])
def test_logits_are_bit_identical_alone_and_in_company_in_any_slot(
    policy: Opened, tokens: Tensor, family: str
) -> None:
    opened = policy(family, False, torch.float32)
    alone = play(opened, tokens, slot=0, company=False)
    for slot in range(SLOTS):
        assert torch.equal(play(opened, tokens, slot=slot, company=True), alone), f"slot {slot}"


def test_adapters_of_one_model_share_its_embedding(policy: Opened) -> None:
    whole, adapter = (policy("llama", adapted, torch.float32) for adapted in (False, True))
    one, other = (PolicyWeights.open(*opened) for opened in (whole, adapter))
    assert one.embedding.data_ptr() == other.embedding.data_ptr()


def test_an_adapter_whose_model_is_not_what_its_hash_says_is_refused(tmp_path: Path) -> None:
    model, _ = random_policy(tmp_path, "llama")
    adapter = random_adapter(model)
    (model / "config.json").write_text("{}")
    with pytest.raises(JobFailure, match=r"config\.json: sha256: found"):
        PolicyWeights.open(*adapter)


def test_slots_are_as_many_as_the_cache_has_room_for(policy: Opened) -> None:
    weights = PolicyWeights.open(*policy("llama", False, torch.float32))
    assert Decoder(weights, slots=10**6, max_context=512).slots == 2 * 2**30 // (2 * 2 * 2 * 16 * 512 * 4)
