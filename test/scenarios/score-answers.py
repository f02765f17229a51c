"""Scores served answers with the trainer: python score-answers.py <store>, one answer per line on standard input.

An answer is {policy, messages, token_ids}; the script prints the trainer's {prompt_ids, text, logprobs} per line.
"""

import json
import sys
from functools import cache
from pathlib import Path

import torch

from coevolve_trainer.chat.encoder import ChatEncoder
from coevolve_trainer.models.policy import load_policy
from coevolve_trainer.settings import SftSettings

STORE = Path(sys.argv[1])


def main() -> None:
    for line in sys.stdin:
        answer = json.loads(line)
        encoder, model = opened(answer["policy"])
        prompt, spoken = encoder.prompt_ids(answer["messages"]), answer["token_ids"]
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([prompt + spoken])).logits[0]
        logprobs = logits.log_softmax(-1)[range(len(prompt) - 1, len(prompt) + len(spoken) - 1), spoken]
        print(json.dumps({"prompt_ids": prompt, "text": encoder.decode(spoken), "logprobs": logprobs.tolist()}))


@cache
def opened(policy: str):
    folder = STORE / policy
    return ChatEncoder.load(folder), load_policy(folder, SftSettings(), torch.device("cpu"), trainable=False)


if __name__ == "__main__":
    main()
