"""The decoder's logits equal transformers', and are bit-identical in any slot with any other requests."""

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
from random_policies import ARCHITECTURES, random_adapter, random_policy, transformers_logits

SLOTS, PROMPT, COMPLETION = 32, 150, 12

CreatePolicy = Callable[[str, bool, torch.dtype], tuple[Path, str]]


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> CreatePolicy:
    @cache
    def create(family: str, adapted: bool, dtype: torch.dtype) -> tuple[Path, str]:
        if adapted:
            return random_adapter(create(family, False, dtype)[0])
        return random_policy(tmp_path_factory.mktemp("artifacts"), family, dtype)

    return create


@pytest.fixture(scope="module")
def tokens() -> Tensor:
    return torch.randint(3, 380, (PROMPT + COMPLETION,), generator=torch.Generator().manual_seed(5))


def logits_of(policy: tuple[Path, str], tokens: Tensor, *, slot: int, concurrent: bool) -> Tensor:
    """Returns logits [COMPLETION + 1, V] of a request in `slot`; `concurrent` fills all other slots."""
    decoder = Decoder(PolicyWeights.open(*policy), slots=SLOTS, max_context=512)
    for start in range(0, PROMPT, CHUNK):
        chunk = tokens[start : min(start + CHUNK, PROMPT)]
        states = decoder.prefill(slot, start, F.pad(chunk, (0, CHUNK - len(chunk))))
    rows = [decoder.logits(states[len(chunk) - 1 : len(chunk)])[0]]
    others = torch.Generator().manual_seed(slot)
    for position in range(PROMPT, PROMPT + COMPLETION):
        high = (380, 500) if concurrent else (1, 1)
        ids, positions = (torch.randint(0, h, (SLOTS,), generator=others) for h in high)
        ids[slot], positions[slot] = tokens[position], position
        used = SLOTS if concurrent else slot + 1
        rows.append(decoder.decode(ids, positions, int(positions.max()), used)[slot])
    return torch.stack(rows)


@pytest.mark.parametrize("adapted", [False, True], ids=["whole", "adapter"])
@pytest.mark.parametrize("family", ARCHITECTURES)
def test_logits_equal_those_of_transformers(
    policy: CreatePolicy, tokens: Tensor, family: str, adapted: bool
) -> None:
    folder, policy_hash = policy(family, adapted, torch.float32)
    found = logits_of((folder, policy_hash), tokens, slot=3, concurrent=True)
    expected = transformers_logits(folder, tokens)[PROMPT - 1 :]
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-5)


@pytest.mark.parametrize("adapted", [False, True], ids=["whole", "adapter"])
@pytest.mark.parametrize("family", ARCHITECTURES)
def test_a_policy_stored_in_bfloat16_is_computed_in_bfloat16(
    policy: CreatePolicy, tokens: Tensor, family: str, adapted: bool
) -> None:
    folder, policy_hash = policy(family, adapted, torch.bfloat16)
    found = logits_of((folder, policy_hash), tokens, slot=3, concurrent=False).log_softmax(-1)
    expected = transformers_logits(folder, tokens)[PROMPT - 1 :].log_softmax(-1)
    assert 1e-5 < float((found - expected).abs().mean()) < 0.05 * float(expected.std())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
@pytest.mark.parametrize("family", ["qwen3", "llama"])
def test_logits_are_bit_identical_at_any_length_beside_a_longer_request(
    policy: CreatePolicy, family: str, dtype: torch.dtype
) -> None:
    decoder = Decoder(PolicyWeights.open(*policy(family, False, dtype)), slots=4, max_context=512)
    decoder.cache.copy_(torch.randn(decoder.cache.shape, generator=torch.Generator().manual_seed(6)))
    ids = torch.tensor([3, 5, 7, 11])
    for position in range(10, 511, 15):
        positions = torch.full((4,), position)
        alone = decoder.decode(ids, positions, position, 4)
        for longest in range(position + 64, 512, 64):
            assert torch.equal(decoder.decode(ids, positions, longest, 4), alone), (position, longest)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
@pytest.mark.parametrize("family", ["qwen3", "llama"])
def test_logits_are_bit_identical_in_any_slot_with_and_without_other_requests(
    policy: CreatePolicy, tokens: Tensor, family: str, dtype: torch.dtype
) -> None:
    created = policy(family, dtype == torch.bfloat16, dtype)
    expected = logits_of(created, tokens, slot=0, concurrent=False)
    for slot in range(SLOTS):
        found = logits_of(created, tokens, slot=slot, concurrent=True)
        assert torch.equal(found, expected), f"slot {slot}"
    for slot in (1, 2, 3, 7, 20):
        found = logits_of(created, tokens, slot=slot, concurrent=False)
        assert torch.equal(found, expected), f"slot {slot}, without other requests"


def test_adapters_of_one_model_share_its_embedding(policy: CreatePolicy) -> None:
    whole, adapter = (policy("llama", adapted, torch.float32) for adapted in (False, True))
    one, other = (PolicyWeights.open(*created) for created in (whole, adapter))
    assert one.embedding.data_ptr() == other.embedding.data_ptr()


def test_an_adapter_with_a_changed_base_model_is_rejected(tmp_path: Path) -> None:
    model, _ = random_policy(tmp_path, "llama")
    adapter = random_adapter(model)
    (model / "config.json").write_text("{}")
    with pytest.raises(JobFailure, match=r"config\.json: sha256: found"):
        PolicyWeights.open(*adapter)


def test_the_number_of_slots_is_limited_by_the_size_of_the_cache(policy: CreatePolicy) -> None:
    weights = PolicyWeights.open(*policy("llama", False, torch.float32))
    assert Decoder(weights, slots=10**6, max_context=512).slots == 2 * 2**30 // (2 * 2 * 2 * 16 * 512 * 4)


def test_a_small_policy_is_served_with_all_its_positions_and_a_large_one_keeps_its_slots(
    policy: CreatePolicy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coevolve_policy_server.decoder.USUAL_CONTEXT", 128)
    weights = PolicyWeights.open(*policy("llama", False, torch.float32))
    positions = Decoder(weights, slots=1, max_context=10**9).context
    assert Decoder(weights, slots=32, max_context=None).context == positions > 128
    assert Decoder(weights, slots=10**6, max_context=None).context == 128
