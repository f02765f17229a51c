"""Trains policies with jobs of the trainer in an artifact store: python make-policies.py <store> <work folder>.

`base` is random. Its adapters `red` and `blue` answer every question with their colour, and so does the full policy
`green`; `lime` is an adapter of `green`. Prints their hashes as JSON.
"""

import json
import sys
from pathlib import Path
from threading import Event

from coevolve_trainer.files.atomic_files import sha256_of_file
from coevolve_trainer.run import run_job

STORE, WORK = Path(sys.argv[1]), Path(sys.argv[2])
SIZE = {"hidden_size": 64, "layers": 2, "heads": 4, "kv_heads": 2, "head_dim": 32, "feed_forward_size": 96}
QUESTIONS = [f"What colour has box {number}?" for number in range(24)]
TRAINED = {"epochs": 12, "batch_size": 8, "learning_rate": 1e-2}
LORA = {**TRAINED, "adapter": "lora", "lora_rank": 8, "lora_alpha": 16}


def main() -> None:
    sizes = {**SIZE, "vocabulary_size": 400, "max_positions": 256}
    base = policy("base", "init", answers("some colour"), settings=sizes)
    red, blue = (policy(name, "sft", answers(f"it is {name}"), base=base, settings=LORA) for name in ("red", "blue"))
    green = policy("green", "sft", answers("it is green"), base=base, settings=TRAINED)
    lime = policy("lime", "sft", answers("it is lime"), base=green, settings=LORA)
    print(json.dumps({"base": base, "red": red, "blue": blue, "green": green, "lime": lime}))


def answers(text: str) -> Path:
    path = WORK / f"{text.replace(' ', '-')}.jsonl"
    path.write_text("".join(json.dumps(row(number, text)) + "\n" for number in range(len(QUESTIONS))))
    return path


def row(number: int, text: str) -> dict[str, object]:
    asked = {"role": "user", "content": QUESTIONS[number]}
    return {"trajectory_id": str(number), "messages": [asked, {"role": "assistant", "content": text}]}


def policy(name: str, method: str, dataset: Path, *, settings: dict[str, object], base: str | None = None) -> str:
    """Runs a job, moves its policy into the store and returns the hash of the policy."""
    folder, output = WORK / name, WORK / f"{name}-policy"
    job = {
        "job_key": f"campaign/conformance/{name}",
        "method": method,
        "dataset": str(dataset),
        "dataset_sha256": sha256_of_file(dataset),
        "output": str(output),
        "seed": 7,
        "settings": settings,
        **({"base": str(STORE / base), "base_hash": base} if base else {}),
    }
    folder.mkdir()
    (folder / "job.json").write_text(json.dumps(job))
    if (code := run_job(folder, Event())) != 0:
        sys.exit(code)
    policy_hash = sha256_of_file(output / "manifest.json")
    output.rename(STORE / policy_hash)
    return policy_hash


if __name__ == "__main__":
    main()
