"""Prints the operations of attention in a pass of the builtin engine on a GPU, as a JSON list."""

import json
import sys

import torch
from torch.profiler import ProfilerActivity, profile
from transformers import Qwen3Config, Qwen3ForCausalLM

from coevolve_trainer.chat.encoder import Segment
from coevolve_trainer.data.packing import Packing
from coevolve_trainer.losses.scorer import PolicyScorer

LENGTHS = {"equal": [200, 200], "of different lengths": [200, 90]}


def main() -> None:
    config = Qwen3Config(
        vocab_size=300,
        hidden_size=256,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=64,
        intermediate_size=512,
    )
    decoder = Qwen3ForCausalLM(config).to("cuda")
    scorer = PolicyScorer(decoder, precision="bfloat16", kernels="transformers", padding_free=False)
    rows = [
        [Segment([3 + row, *range(3, 2 + length)], [0] * 10 + [1] * (length - 10))]
        for row, length in enumerate(LENGTHS[sys.argv[1]])
    ]
    packed = Packing.for_kernels("transformers", pad_id=0).pack(rows, 10_000)
    with profile(activities=[ProfilerActivity.CPU]) as profiled:
        scorer(packed).logp.sum().backward()
        torch.cuda.synchronize()
    print(json.dumps(sorted({event.key for event in profiled.key_averages() if "attention" in event.key})))


if __name__ == "__main__":
    main()
