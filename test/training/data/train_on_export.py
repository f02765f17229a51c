"""Trains a tiny policy of this project with TRL on an exported file: <trl-sft|trl-dpo> <file> <folder>.

Prints {"updates", "losses", "rows", "columns", "moved"}; `moved` is true if the weights changed.
"""

import json
import os
import sys
from pathlib import Path
from threading import Event
from typing import Any

folder = Path(sys.argv[3])
os.environ |= {"HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "home"), "OMP_NUM_THREADS": "1"}

import torch
from coevolve_trainer.files.atomic_files import sha256_of_file
from coevolve_trainer.run import run_job
from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import DPOConfig, DPOTrainer, SFTConfig, SFTTrainer


def main() -> None:
    kind, file = sys.argv[1], Path(sys.argv[2])
    policy = make_policy(file)
    dataset: Any = load_dataset("json", data_files=str(file), split="train")
    model: Any = AutoModelForCausalLM.from_pretrained(policy)
    before = model.model.embed_tokens.weight.detach().clone()
    arguments: dict[str, Any] = {
        "output_dir": str(folder / "trl"),
        "per_device_train_batch_size": 2,
        "max_steps": 3,
        "learning_rate": 1e-3,
        "logging_steps": 1,
        "bf16": False,
        "gradient_checkpointing": False,
        "use_cpu": True,
        "save_strategy": "no",
        "report_to": "none",
        "disable_tqdm": True,
    }
    common = {"model": model, "processing_class": AutoTokenizer.from_pretrained(policy), "train_dataset": dataset}
    if kind == "trl-sft":
        trainer: Any = SFTTrainer(args=SFTConfig(assistant_only_loss=True, **arguments), **common)
    else:
        trainer = DPOTrainer(args=DPOConfig(**arguments), **common)
    trainer.train()
    losses = [line["loss"] for line in trainer.state.log_history if "loss" in line]
    result = {"updates": trainer.state.global_step, "losses": losses, "rows": len(dataset)}
    moved = not torch.equal(before, model.model.embed_tokens.weight)
    print(json.dumps({**result, "columns": dataset.column_names, "moved": moved}))


def make_policy(file: Path) -> Path:
    """Creates a random policy with a tokenizer trained on the exported texts."""
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    texts = folder / "texts.jsonl"
    written = [row.get("messages") or row["prompt"] + row["chosen"] for row in rows]
    texts.write_text("".join(json.dumps({"messages": messages}) + "\n" for messages in written))
    job = {
        "job_key": "export/init",
        "method": "init",
        "dataset": str(texts),
        "dataset_sha256": sha256_of_file(texts),
        "output": str(folder / "policy"),
        "seed": 1,
        "settings": {"hidden_size": 32, "layers": 2, "feed_forward_size": 64, "reserve_disk_bytes": 0},
    }
    (folder / "job.json").write_text(json.dumps(job))
    assert run_job(folder, Event()) == 0, (folder / "status.json").read_text()
    return folder / "policy"


main()
