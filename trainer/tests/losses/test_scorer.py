"""The scorer computes the log-probabilities and values of a packed batch's action tokens."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModelForCausalLM

from coevolve_trainer.chat.encoder import Segment
from coevolve_trainer.data.packed_batch import PackedBatch, pack_trajectories
from coevolve_trainer.losses.scorer import PolicyScorer

IDS = [[5, 6, 7, 8, 9, 10], [5, 6, 7, 8, 11], [12, 13, 14]]
MASKS = [[0, 0, 1, 0, 1, 1], [0, 0, 1, 0, 1], [0, 1, 1]]


def random_model(family: str = "qwen3") -> Any:
    torch.manual_seed(3)
    config = AutoConfig.for_model(
        family,
        vocab_size=40,
        hidden_size=16,
        head_dim=8,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        intermediate_size=24,
    )
    model: Any = AutoModelForCausalLM.from_config(config)
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.3)
    model.lm_head.bias = nn.Parameter(torch.randn(40))
    return model.float()


def random_value_head() -> nn.Linear:
    torch.manual_seed(4)
    return nn.Linear(16, 1)


def batch() -> PackedBatch:
    return pack_trajectories([[Segment(ids, mask)] for ids, mask in zip(IDS, MASKS, strict=True)], pad_id=0)


def expected_scores(model: Any, value_head: nn.Linear) -> tuple[Tensor, Tensor]:
    """Computes log-probabilities and values with a forward pass of transformers per trajectory."""
    logp, values = [], []
    for ids, mask in zip(IDS, MASKS, strict=True):
        output = model(input_ids=torch.tensor([ids]), output_hidden_states=True)
        actions = [t for t in range(1, len(ids)) if mask[t]]
        log_softmax = output.logits[0].float().log_softmax(-1)
        logp.append(log_softmax[[t - 1 for t in actions], [ids[t] for t in actions]])
        values.append(value_head(output.hidden_states[-1][0, [t - 1 for t in actions]].float()).squeeze(-1))
    return torch.cat(logp), torch.cat(values)


@pytest.mark.parametrize("family", ["qwen3", "olmo2"])  # with a fast last layer and without
def test_log_probabilities_and_values_are_those_of_the_states_before_each_action_token(family: str) -> None:
    value_head = random_value_head()
    logp, values = expected_scores(random_model(family), value_head)
    found = PolicyScorer(random_model(family), value_head)(batch())
    torch.testing.assert_close(found.logp, logp, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(found.values, values, atol=1e-5, rtol=1e-5)


def test_without_a_value_head_there_are_no_values() -> None:
    assert PolicyScorer(random_model())(batch()).values is None


@pytest.mark.parametrize("precision", ["bfloat16", "float32"])
def test_products_have_the_precisions_type_and_the_scores_are_float32(precision: str) -> None:
    model, value_head = random_model(), random_value_head()
    types: list[torch.dtype] = []
    model.model.layers[0].mlp.down_proj.register_forward_hook(
        lambda _, __, output: types.append(output.dtype)
    )
    found = PolicyScorer(model, value_head, precision=precision)(batch())
    assert found.values is not None
    assert types == [getattr(torch, precision)]
    assert (found.logp.dtype, found.values.dtype) == (torch.float32, torch.float32)
    logp, values = expected_scores(random_model(), value_head)
    difference = (found.logp - logp).abs().max().item()
    assert difference < 1e-5 if precision == "float32" else 1e-4 < difference < 0.2
    torch.testing.assert_close(found.values, values, atol=0.2, rtol=0.1)


def test_the_last_layer_computes_queries_only_for_predicting_tokens() -> None:
    model, sizes = random_model(), list[int]()
    model.model.layers[-1].self_attn.q_proj.register_forward_hook(
        lambda _, __, out: sizes.append(out.shape[1])
    )
    packed = batch()
    PolicyScorer(model)(packed)
    assert sizes == [len(set(packed.source_index.tolist()))]
    assert sizes[0] < len(packed.input_ids)


def test_the_decoder_caches_no_keys_and_the_batch_is_moved_to_its_device() -> None:
    model, options = random_model(), list[dict[str, Any]]()
    forward = model.model.forward

    def recorded(**named: Any) -> Any:
        options.append(named)
        return forward(**named)

    model.model.forward = recorded
    PolicyScorer(model)(batch())
    assert options[0]["use_cache"] is False
    assert options[0]["input_ids"].device == model.device
