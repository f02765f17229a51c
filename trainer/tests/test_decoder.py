"""The fixed-shape decoder: equal to transformers, and the same bits in any slot and any company."""

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from coevolve_policy_server.decoder import CHUNK, Decoder
from coevolve_trainer.models.decoder import load_model

SLOTS, PROMPT, ANSWER = 32, 150, 12


@pytest.fixture(scope="module")
def tokens(trained: Path) -> Tensor:
    generator = torch.Generator().manual_seed(5)
    return torch.randint(3, 380, (PROMPT + ANSWER,), generator=generator)


def play(policy: Path, tokens: Tensor, *, slot: int, company: bool) -> Tensor:
    """Logits [ANSWER + 1, V] of a request in `slot`; with company, all other slots decode as well."""
    decoder = Decoder(policy, slots=SLOTS, max_context=512)
    for start in range(0, PROMPT, CHUNK):
        chunk = tokens[start : min(start + CHUNK, PROMPT)]
        logits = decoder.prefill(slot, start, F.pad(chunk, (0, CHUNK - len(chunk))), len(chunk) - 1)
    rows = [logits[0]]
    others = torch.Generator().manual_seed(slot)
    for at in range(PROMPT, PROMPT + ANSWER):
        high = (380, 500) if company else (1, 1)
        ids, positions = (torch.randint(0, h, (SLOTS,), generator=others) for h in high)
        ids[slot], positions[slot] = tokens[at], at
        rows.append(decoder.decode(ids, positions, int(positions.max()))[slot])
    return torch.stack(rows)


def test_logits_equal_a_plain_transformers_forward(trained: Path, tokens: Tensor) -> None:
    with torch.no_grad():
        plain = load_model(trained)(input_ids=tokens[None]).logits[0, PROMPT - 1 :]
    torch.testing.assert_close(play(trained, tokens, slot=3, company=True), plain, atol=1e-4, rtol=0)


def test_logits_are_bit_identical_alone_and_in_company_in_any_slot(trained: Path, tokens: Tensor) -> None:
    alone = play(trained, tokens, slot=0, company=False)
    for slot in range(SLOTS):
        assert torch.equal(play(trained, tokens, slot=slot, company=True), alone), f"slot {slot}"
