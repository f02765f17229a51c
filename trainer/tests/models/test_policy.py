"""Policies of three architectures, whole and as adapters, are stored and loaded without changes."""

import json
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from coevolve_trainer.failures import JobFailure
from coevolve_trainer.files.atomic_files import create_empty_directory, sha256_of_file
from coevolve_trainer.files.policy_files import write_manifest
from coevolve_trainer.models.policy import (
    load_policy,
    load_weights,
    parameter_count,
    save_policy,
    trainable_parameters,
    trained_weights,
)
from coevolve_trainer.models.weight_files import read_weights, weight_bytes, write_weights
from coevolve_trainer.settings import ComputeSettings

CPU = torch.device("cpu")
WHOLE, LORA = ComputeSettings(), ComputeSettings(adapter="lora", lora_rank=4)
SMALL = {
    "vocab_size": 300,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 16,
    "max_position_embeddings": 128,
    "initializer_range": 0.1,
}
FAMILIES = [("qwen3", True), ("qwen2", False), ("llama", True)]
IDS = torch.randint(0, 300, (2, 24), generator=torch.Generator().manual_seed(2))


@pytest.fixture(
    scope="module", params=FAMILIES, ids=[f"{name}-{'tied' if t else 'untied'}" for name, t in FAMILIES]
)
def model_folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole policy as transformers saves it, under its hash as in the artifact store."""
    from transformers import AutoConfig, AutoModelForCausalLM

    name, tied = request.param
    torch.manual_seed(1)
    config = AutoConfig.for_model(name, tie_word_embeddings=tied, **SMALL)
    model: Any = AutoModelForCausalLM.from_config(config)
    folder = tmp_path_factory.mktemp(name) / "new"
    model.save_pretrained(folder)
    (folder / "tokenizer.json").write_text("{}")
    (folder / "chat_format.json").write_text('{"name": "qwen3"}')
    return rename_to_hash(folder, {})


def rename_to_hash(folder: Path, fields: dict[str, object]) -> Path:
    stored = folder.parent / write_manifest(folder, fields)
    shutil.rmtree(stored, ignore_errors=True)  # equal bytes, from another test
    return folder.rename(stored)


def logits(model: Any) -> Tensor:
    with torch.no_grad():
        output: Tensor = model.eval()(input_ids=IDS).logits
    return output


@cache
def transformers_logits(folder: Path) -> Tensor:
    from transformers import AutoModelForCausalLM

    return logits(AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32))


def perturb(base: Path, compute: ComputeSettings, folder: Path) -> tuple[Any, Path]:
    """Returns a policy with randomly changed trainable weights, and the folder in which it is stored."""
    torch.manual_seed(3)
    model = load_policy(base, compute, CPU, trainable=True)
    with torch.no_grad():
        for parameter in trainable_parameters(model):
            parameter.add_(torch.randn_like(parameter) * 0.02)
    fields = save_policy(model, base, create_empty_directory(folder))
    return model, rename_to_hash(folder, fields)


def test_a_whole_policy_has_the_logits_of_the_model_in_transformers(model_folder: Path) -> None:
    model = load_policy(model_folder, WHOLE, CPU, trainable=True)
    assert torch.equal(logits(model), transformers_logits(model_folder))
    assert len(trainable_parameters(model)) == len(list(model.parameters()))


def test_a_trained_policy_is_stored_with_all_weights_and_the_files_of_its_base(model_folder: Path) -> None:
    model, policy = perturb(model_folder, WHOLE, model_folder.parent / "whole")
    assert torch.equal(logits(load_policy(policy, WHOLE, CPU, trainable=False)), logits(model))
    assert torch.equal(transformers_logits(policy), logits(model))
    assert (policy / "chat_format.json").read_bytes() == (model_folder / "chat_format.json").read_bytes()
    assert ("lm_head.weight" in read_weights(policy)) != model.config.tie_word_embeddings


def test_a_new_adapter_keeps_the_logits_and_only_its_weights_are_trained(
    model_folder: Path,
) -> None:
    torch.manual_seed(3)
    model = load_policy(model_folder, LORA, CPU, trainable=True)
    assert torch.equal(logits(model), transformers_logits(model_folder))
    assert {id(p) for p in trainable_parameters(model)} == {
        id(p) for name, p in model.named_parameters() if "lora_" in name
    }
    assert len(trained_weights(model)) == 2 * 2 * 7  # two factors, two layers, seven linear layers each
    torch.manual_seed(3)
    again = load_policy(model_folder, LORA, CPU, trainable=True)
    assert all(torch.equal(trained_weights(model)[k], v) for k, v in trained_weights(again).items())


def test_a_stored_adapter_has_the_same_logits_in_peft(model_folder: Path) -> None:
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    model, policy = perturb(model_folder, LORA, model_folder.parent / "adapter")
    config = json.loads((policy / "adapter_config.json").read_bytes())
    assert config["base_model_name_or_path"] == sha256_of_file(model_folder / "manifest.json")
    peft = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(model_folder), str(policy))
    assert not torch.equal(logits(model), transformers_logits(model_folder))
    assert torch.equal(logits(peft), logits(model))
    assert torch.equal(logits(load_policy(policy, WHOLE, CPU, trainable=False)), logits(model))
    assert weight_bytes(policy) < weight_bytes(model_folder)


def test_an_adapter_that_is_trained_again_remains_an_adapter_of_the_same_model(model_folder: Path) -> None:
    _, first = perturb(model_folder, LORA, model_folder.parent / "first")
    second, policy = perturb(first, LORA, model_folder.parent / "second")
    assert json.loads((policy / "manifest.json").read_bytes())["model_hash"] == model_folder.name
    assert torch.equal(logits(load_policy(policy, WHOLE, CPU, trainable=False)), logits(second))


def test_an_adapter_of_another_shape_is_rejected(model_folder: Path) -> None:
    _, policy = perturb(model_folder, LORA, model_folder.parent / "shaped")
    other = ComputeSettings(adapter="lora", lora_rank=8)
    with pytest.raises(JobFailure, match=r"settings\.lora_rank: found 8, expected 4"):
        load_policy(policy, other, CPU, trainable=True)


def test_an_adapter_without_its_base_model_is_rejected(model_folder: Path, tmp_path: Path) -> None:
    _, policy = perturb(model_folder, LORA, model_folder.parent / "lonely")
    shutil.copytree(policy, tmp_path / "without-model")
    with pytest.raises(JobFailure, match="model_hash of"):
        load_policy(tmp_path / "without-model", LORA, CPU, trainable=False)


def test_trained_weights_are_float32_with_precision_bfloat16(model_folder: Path) -> None:
    compute = ComputeSettings(adapter="lora", lora_rank=4, precision="bfloat16")
    model = load_policy(model_folder, compute, CPU, trainable=True)
    assert {p.dtype for p in trainable_parameters(model)} == {torch.float32}
    assert {p.dtype for p in model.parameters() if not p.requires_grad} == {torch.bfloat16}
    with torch.autocast("cpu", torch.bfloat16):
        model(input_ids=IDS).logits.float().logsumexp(-1).mean().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in trainable_parameters(model))
    whole = load_policy(model_folder, ComputeSettings(precision="bfloat16"), CPU, trainable=True)
    assert {p.dtype for p in whole.parameters()} == {torch.float32}


def test_weights_in_several_files_are_the_same_weights(model_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(model_folder, tmp_path / "shards")
    (tmp_path / "shards" / "model.safetensors").unlink()
    weights = read_weights(model_folder)
    write_weights(tmp_path / "shards", weights, shard_bytes=16_000)
    assert len(list((tmp_path / "shards").glob("model-*.safetensors"))) > 2
    assert all(
        torch.equal(read_weights(tmp_path / "shards")[name], tensor) for name, tensor in weights.items()
    )
    model = load_policy(tmp_path / "shards", WHOLE, CPU, trainable=False)
    assert torch.equal(logits(model), transformers_logits(model_folder))


def test_weights_of_another_model_are_rejected(model_folder: Path, tmp_path: Path) -> None:
    model = load_policy(model_folder, WHOLE, CPU, trainable=True)
    weights = trained_weights(model)
    name, tensor = weights.popitem()
    with pytest.raises(ValueError, match="missing"):
        load_weights(model, weights)
    with pytest.raises(ValueError, match=r"found shape \[1\]"):
        load_weights(model, {**weights, name: tensor.flatten()[:1]})
    shutil.copytree(model_folder, tmp_path / "incomplete")
    write_weights(tmp_path / "incomplete", weights)
    with pytest.raises(JobFailure, match="missing: "):
        load_policy(tmp_path / "incomplete", WHOLE, CPU, trainable=True)


def test_a_tied_head_is_counted_once(model_folder: Path) -> None:
    model = load_policy(model_folder, WHOLE, CPU, trainable=False)
    assert parameter_count(model) == sum(tensor.numel() for tensor in read_weights(model_folder).values())
