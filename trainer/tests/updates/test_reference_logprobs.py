"""The log-probabilities of the reference are computed once and cached."""

from pathlib import Path

import torch
from torch import Tensor

from coevolve_trainer.data.dataset import Example
from coevolve_trainer.data.packing import Packing
from coevolve_trainer.losses.scorer import PolicyScorer
from coevolve_trainer.process_group import ProcessGroup
from coevolve_trainer.updates.reference_logprobs import reference_logprobs
from loaded_policy import load_model


def test_the_reference_is_computed_again_only_for_a_damaged_cache_or_another_key(
    mixed_examples: list[Example], trained: Path, tmp_path: Path
) -> None:
    cache, loads = tmp_path / "reference.safetensors", []

    def load_reference() -> PolicyScorer:
        loads.append(1)
        return PolicyScorer(load_model(trained).requires_grad_(False))

    def logprobs(key: str, max_tokens: int = 200) -> Tensor:
        return reference_logprobs(
            cache,
            key,
            load_reference,
            mixed_examples,
            packing=Packing(pad_id=0),
            max_tokens=max_tokens,
            process_group=ProcessGroup(),
        )

    first = logprobs("a" * 64)
    assert (first[[not e.rejected for e in mixed_examples]] == 0).all()
    assert (first[[bool(e.rejected) for e in mixed_examples]] < 0).all()
    assert torch.equal(logprobs("a" * 64), first)
    assert len(loads) == 1
    torch.testing.assert_close(logprobs("b" * 64, 10**6), first, atol=1e-4, rtol=0)
    assert len(loads) == 2
    data = bytearray(cache.read_bytes())
    data[-1] ^= 1
    cache.write_bytes(data)
    torch.testing.assert_close(logprobs("b" * 64), first, atol=1e-4, rtol=0)
    cache.write_bytes(cache.read_bytes()[:100])  # as after a kill, if the write were not atomic
    logprobs("b" * 64)
    assert len(loads) == 4
