"""Creates a policy of random weights with a newly trained tokenizer: the method `init`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..chat.encoder import ChatEncoder
from ..chat.tokenizer import train_tokenizer, write_tokenizer
from ..data.dataset import read_texts
from ..files.atomic_files import create_empty_directory, publish_directory
from ..files.policy_files import write_manifest
from ..job import Job
from ..settings import InitSettings

if TYPE_CHECKING:
    from transformers.models.qwen3.modeling_qwen3 import Qwen3ForCausalLM


def init_policy(job: Job, settings: InitSettings) -> tuple[str, int]:
    """Publishes the job's policy; returns its hash and number of parameters."""
    import torch

    from .policy import parameter_count, save_model

    assert job.dataset is not None
    job.output.parent.mkdir(parents=True, exist_ok=True)
    staging = create_empty_directory(job.output.with_name(f".{job.output.name}.staging"))
    tokenizer = train_tokenizer(read_texts(job.dataset), vocabulary_size=settings.vocabulary_size)
    write_tokenizer(tokenizer, staging, max_positions=settings.max_positions)
    encoder = ChatEncoder(tokenizer)
    torch.manual_seed(job.seed)
    model = create_random_model(
        settings,
        vocabulary_size=tokenizer.get_vocab_size(),
        pad_id=encoder.pad_id,
        end_id=encoder.end_id,
    )
    save_model(model, staging)
    parameters = parameter_count(model)
    policy_hash = write_manifest(staging, {**job.manifest_fields(), "parameters": parameters})
    publish_directory(staging, job.output)
    return policy_hash, parameters


def create_random_model(
    settings: InitSettings, *, vocabulary_size: int, pad_id: int, end_id: int
) -> Qwen3ForCausalLM:
    """Returns a random decoder; its weights depend only on torch's seed."""
    from transformers.models.qwen3.configuration_qwen3 import Qwen3Config
    from transformers.models.qwen3.modeling_qwen3 import Qwen3ForCausalLM

    config = Qwen3Config(
        vocab_size=vocabulary_size,
        hidden_size=settings.hidden_size,
        num_hidden_layers=settings.layers,
        num_attention_heads=settings.heads,
        num_key_value_heads=settings.kv_heads,
        head_dim=settings.head_dim,
        intermediate_size=settings.feed_forward_size,
        max_position_embeddings=settings.max_positions,
        initializer_range=settings.initializer_range,
        tie_word_embeddings=True,
        pad_token_id=pad_id,
        eos_token_id=end_id,
        bos_token_id=None,
        dtype="float32",
        architectures=["Qwen3ForCausalLM"],
    )
    return Qwen3ForCausalLM(config)
