"""The passes of transformers' modules, which a GPU uses, equal the kernels for CPUs."""

from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModelForCausalLM

from coevolve_trainer.chat.encoder import Segment
from coevolve_trainer.data.packed_batch import PackedBatch
from coevolve_trainer.data.packing import Packing
from coevolve_trainer.failures import JobFailure
from coevolve_trainer.losses.decoder_passes import DecoderPasses, use_flash_attention
from coevolve_trainer.losses.scorer import PolicyScorer
from coevolve_trainer.models.adapter import adapter_parameters, add_adapter
from coevolve_trainer.settings import ComputeSettings

ROWS = [
    Segment([5, 6, 7, 8, 9, 10], [0, 0, 1, 0, 1, 1]),
    Segment([5, 6, 7, 8, 11], [0, 0, 1, 0, 1]),  # shares a prefix with the first
    Segment([12, 13, 14], [0, 1, 1]),
    Segment([5, 6, 7, 8, 9, 10], [0, 0, 1, 0, 1, 1]),  # equals the first
]
SIZES = {
    "vocab_size": 40,
    "hidden_size": 16,
    "head_dim": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "intermediate_size": 24,
    "pad_token_id": 0,
}
MODES = pytest.mark.parametrize("padding_free", [False, True], ids=["padded rows", "one row"])


def random_model(family: str, *, adapter: bool = False, **change: Any) -> Any:
    torch.manual_seed(3)
    config = AutoConfig.for_model(family, **SIZES | change)
    model: Any = AutoModelForCausalLM.from_config(config)
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.3)
    if adapter:
        add_adapter(model, ComputeSettings(adapter="lora", lora_rank=4))
        for parameter in adapter_parameters(model).values():
            nn.init.normal_(parameter, std=0.2)  # with 0.3, rounding is amplified a hundredfold in this model
    return model.float()


def pack(*, kernels: str) -> PackedBatch:
    return Packing.for_kernels(kernels, pad_id=0).pack([[row] for row in ROWS], 10**6)


def logp_and_gradient(model: Any, **options: Any) -> tuple[Tensor, dict[str, Tensor]]:
    """Returns the log-probabilities, and the gradient of a loss in which every token has its own weight."""
    logp = PolicyScorer(model, **options)(pack(kernels=options["kernels"])).logp
    (logp * torch.arange(1.0, len(logp) + 1)).sum().backward()
    return logp.detach(), {n: p.grad for n, p in model.named_parameters() if p.grad is not None}


def plain_logp(model: Any) -> Tensor:
    """Computes log-probabilities with a forward pass of the whole model per row."""
    logp = []
    for ids, mask, _ in ROWS:
        log_softmax = model(input_ids=torch.tensor([ids])).logits[0].float().log_softmax(-1)
        actions = [t for t in range(1, len(ids)) if mask[t]]
        logp.append(log_softmax[[t - 1 for t in actions], [ids[t] for t in actions]])
    return torch.cat(logp).detach()


@MODES
@pytest.mark.parametrize("adapter", [False, True], ids=["whole weights", "LoRA"])
@pytest.mark.parametrize("family", ["qwen3", "llama", "olmo2"])
def test_log_probabilities_and_gradients_equal_those_of_the_kernels_for_cpus(
    family: str, adapter: bool, padding_free: bool
) -> None:
    expected, expected_gradient = logp_and_gradient(random_model(family, adapter=adapter), kernels="cpu")
    found, gradient = logp_and_gradient(
        random_model(family, adapter=adapter), kernels="transformers", padding_free=padding_free
    )
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)
    assert gradient.keys() == expected_gradient.keys()
    for name, expected_value in expected_gradient.items():
        torch.testing.assert_close(gradient[name], expected_value, atol=1e-4, rtol=1e-4, msg=name)


@MODES
def test_an_adapter_over_a_frozen_base_in_bfloat16_can_be_trained(padding_free: bool) -> None:
    """As every adapter on a GPU: products of the base's bfloat16 and the adapter's float32 need autocast."""
    model = random_model("qwen3", adapter=True)
    exact, exact_gradient = logp_and_gradient(model, kernels="transformers")
    for name, parameter in model.named_parameters():
        if name not in exact_gradient:
            parameter.data = parameter.data.to(torch.bfloat16)
    model.zero_grad()
    found, gradient = logp_and_gradient(
        model, kernels="transformers", precision="bfloat16", padding_free=padding_free
    )
    torch.testing.assert_close(found, exact, atol=0.3, rtol=0)
    assert gradient.keys() == exact_gradient.keys()


@MODES
@pytest.mark.parametrize(
    ("family", "change"),
    [
        ("gpt_neox", {}),
        ("phi", {}),
        ("mistral", {"sliding_window": 3}),
        ("gemma2", {"sliding_window": 3, "final_logit_softcapping": 2.0}),
        ("cohere", {"logit_scale": 0.5}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_any_decoder_can_be_trained(family: str, change: dict[str, Any], padding_free: bool) -> None:
    expected = plain_logp(random_model(family, **change).eval())
    model = random_model(family, **change).eval()
    found, gradient = logp_and_gradient(model, kernels="transformers", padding_free=padding_free)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)
    assert gradient.keys() == {name for name, _ in model.named_parameters()}


def test_a_capped_head_also_gives_the_states_for_a_value_head() -> None:
    model, value_head = random_model("gemma2", final_logit_softcapping=2.0), nn.Linear(16, 1)
    ids = torch.tensor([ROWS[2].input_ids])
    states = model.base_model(input_ids=ids).last_hidden_state[0, :2]
    scores = PolicyScorer(model, value_head, kernels="transformers")(pack(kernels="transformers"))
    assert scores.values is not None
    torch.testing.assert_close(scores.values[5:7], value_head(states).squeeze(1))


def test_a_batch_with_shared_prefixes_is_refused() -> None:
    scorer = PolicyScorer(random_model("qwen3"), kernels="transformers")
    shared = Packing(pad_id=0, block_cost=0).pack([[row] for row in ROWS], 10**6)
    with pytest.raises(ValueError, match="shared prefixes"):
        scorer(shared)


@pytest.mark.parametrize("family", ["gpt_neox", "gemma2"])
def test_the_kernels_for_cpus_refuse_a_decoder_that_they_do_not_know(family: str) -> None:
    with pytest.raises(JobFailure, match=f"settings.kernels: found cpu with model_type {family}"):
        PolicyScorer(random_model(family), kernels="cpu")


def test_compiled_layers_give_equal_log_probabilities(monkeypatch: pytest.MonkeyPatch) -> None:
    # Traced, but not compiled to C++: inductor takes a minute for two layers, and was within 1e-5 too
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="eager"))
    torch._dynamo.utils.counters.clear()
    packed = pack(kernels="transformers")
    with torch.no_grad():
        expected = PolicyScorer(random_model("qwen3"), kernels="transformers")(packed).logp
        found = PolicyScorer(random_model("qwen3"), kernels="transformers", compile=True)(packed).logp
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] >= 1


def test_flash_attention_gets_the_boundaries_of_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    model, given = random_model("qwen3"), {}
    passes = DecoderPasses(model, padding_free=True, compile=False)
    forward = model.base_model.forward

    def recorded(**inputs: Any) -> Any:
        given.update(inputs)
        return forward(**inputs)

    monkeypatch.setattr(model.base_model, "forward", recorded)
    passes(pack(kernels="transformers"), needs_states=True)
    # Longest first, without the last token of a row, which predicts nothing
    ends = torch.tensor([0, 5, 10, 14, 16], dtype=torch.int32)
    for name in ("cu_seq_lens_q", "cu_seq_lens_k"):
        assert given[name].dtype == torch.int32
        assert torch.equal(given[name], ends)
    assert (given["max_length_q"], given["max_length_k"]) == (5, 5)


class Decoder:
    """What `use_flash_attention` asks of a decoder."""

    def __init__(self, supports: bool) -> None:
        self._supports_flash_attn = supports
        self.chosen: list[str] = []

    def set_attn_implementation(self, name: str) -> None:
        self.chosen.append(name)


@pytest.mark.parametrize(
    ("device", "dtype", "supports", "installed"),
    [
        ("cuda", torch.bfloat16, True, True),
        ("cpu", torch.bfloat16, True, True),
        ("cuda", torch.float32, True, True),
        ("cuda", torch.bfloat16, False, True),
        ("cuda", torch.bfloat16, True, False),
    ],
)
def test_flash_attention_needs_a_gpu_bfloat16_the_package_and_a_model_that_supports_it(
    monkeypatch: pytest.MonkeyPatch, device: str, dtype: torch.dtype, supports: bool, installed: bool
) -> None:
    monkeypatch.setattr("transformers.utils.import_utils.is_flash_attn_2_available", lambda: installed)
    decoder: Any = Decoder(supports)
    expected = (device, dtype, supports, installed) == ("cuda", torch.bfloat16, True, True)
    assert use_flash_attention(decoder, torch.device(device), dtype) is expected
    assert decoder.chosen == (["flash_attention_2"] if expected else [])


def test_a_decoder_that_says_nothing_of_flash_attention_is_left_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("transformers.utils.import_utils.is_flash_attn_2_available", lambda: True)
    decoder: Any = object()
    assert not use_flash_attention(decoder, torch.device("cuda"), torch.bfloat16)
