"""The fast layers have the outputs and gradients of transformers' layers, for every supported family."""

from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from coevolve_trainer.chat.encoder import Segment
from coevolve_trainer.data.packed_batch import pack_trajectories
from coevolve_trainer.losses.scorer import PolicyScorer

SHAPE = {
    "vocab_size": 90,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 48,
}


def random_model(family: str, **change: Any) -> Any:
    torch.manual_seed(3)
    config = AutoConfig.for_model(family, **{**SHAPE, **change})
    model: Any = AutoModelForCausalLM.from_config(config)
    model.config._attn_implementation = "sdpa"
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    return model.float()


@pytest.mark.parametrize("family", ["qwen3", "qwen2", "llama", "olmo2"])
@pytest.mark.parametrize("checkpointing", [False, True])
def test_a_familys_scores_and_gradients_are_those_of_transformers(family: str, checkpointing: bool) -> None:
    """The layers of olmo2 are not replaced, only its attention."""
    plain, fast = random_model(family), random_model(family)
    if checkpointing:
        fast.gradient_checkpointing_enable({"use_reentrant": False})
        fast.train()
    scorer = PolicyScorer(fast)
    generator = torch.Generator().manual_seed(5)
    prompt = torch.randint(3, 90, (20,), generator=generator).tolist()
    sides = [[*prompt, *torch.randint(3, 90, (n,), generator=generator).tolist()] for n in (7, 7, 12)]
    packed = pack_trajectories([[Segment(ids, [0] * 20 + [1] * (len(ids) - 20))] for ids in sides], 0)
    found = scorer(packed).logp
    expected = []
    for ids in sides:
        logp = plain(input_ids=torch.tensor([ids])).logits[0].log_softmax(-1)
        expected.append(logp[torch.arange(19, len(ids) - 1), ids[20:]])
    torch.testing.assert_close(found, torch.cat(expected), atol=1e-5, rtol=1e-5)
    found.sum().backward()
    torch.cat(expected).sum().backward()  # type: ignore[no-untyped-call]
    for one, other in zip(fast.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad, atol=1e-5, rtol=1e-4)


def test_a_layer_with_sliding_window_attention_is_rejected() -> None:
    window = {"use_sliding_window": True, "sliding_window": 4, "max_window_layers": 1}
    with pytest.raises(Exception, match="cpu with layer_types full_attention, sliding_attention"):
        PolicyScorer(random_model("qwen2", **window))
