"""Three updates by TRL's trainers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from peft import PeftModel
from torch import Tensor
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import DPOConfig, DPOTrainer, SFTConfig, SFTTrainer

from coevolve_trainer.files.policy_files import read_manifest
from run_comparison import NO_CLIPPING, RATE, UPDATES, Run, first_gradient
from token_rows import Pair, TokenRow

IGNORED = -100


def load(policy: Path) -> Any:
    """Loads a policy with transformers; for an adapter, with peft over its base model."""
    if not (policy / "adapter_config.json").exists():
        return AutoModelForCausalLM.from_pretrained(policy, dtype=torch.float32)
    model = load(policy.parent / str(read_manifest(policy)["model_hash"]))
    return PeftModel.from_pretrained(model, policy, is_trainable=True)


def trained_parameters(model: torch.nn.Module) -> dict[str, Tensor]:
    """Returns parameters by their names in the policy's file, without the adapter name that peft inserts."""
    named = ((n, p) for n, p in model.named_parameters() if p.requires_grad)
    return {name.replace(".default.", "."): parameter for name, parameter in named}


def labeled(row: TokenRow) -> dict[str, list[int]]:
    """Returns a pre-tokenized row for SFTTrainer."""
    return {"input_ids": row.ids, "labels": [t if m else IGNORED for t, m in zip(*row, strict=True)]}


def run_sft(policy: Path, rows: Sequence[dict[str, Any]], folder: Path, **config: Any) -> Run:
    """`rows` have input_ids and labels, or messages."""
    arguments = SFTConfig(**_arguments(folder, len(rows)), shuffle_dataset=False, **config)
    return _run(_Sft(args=arguments, train_dataset=Dataset.from_list(list(rows)), **_policy(policy)))


def run_dpo(policy: Path, pairs: Sequence[Pair], folder: Path, **change: Any) -> Run:
    return _run(dpo_trainer(policy, pairs, folder, **change))


def dpo_trainer(
    policy: Path,
    pairs: Sequence[Pair],
    folder: Path,
    *,
    beta: float = 0.1,
    reference: Path | None = None,
    precomputed: bool = False,
) -> Any:
    """Returns a DPOTrainer with a loss over actions only: its own collator would include the observations."""
    text = {"prompt": "a", "chosen": "b", "rejected": "c"}  # DPOTrainer always tokenizes these columns
    arguments = DPOConfig(
        **_arguments(folder, len(pairs)),
        beta=beta,
        remove_unused_columns=False,
        precompute_ref_log_probs=precomputed,
        precompute_ref_batch_size=len(pairs),
    )
    return _Dpo(
        args=arguments,
        data_collator=collate_pairs,
        train_dataset=Dataset.from_list([{**text, "rows": pair} for pair in pairs]),
        ref_model=load(reference) if reference else None,
        **_policy(policy),
    )


def run_dpo_with_own_collator(
    policy: Path, examples: Sequence[dict[str, Any]], folder: Path
) -> tuple[Run, list[Pair]]:
    """Runs DPOTrainer with its own tokenization and collator; also returns the pairs of its batch."""
    arguments = DPOConfig(**_arguments(folder, len(examples)))
    dataset = Dataset.from_list(list(examples))
    trainer = _Dpo(args=arguments, train_dataset=dataset, **_policy(policy))
    batch = trainer.data_collator(list(trainer.train_dataset))
    return _run(trainer), _pairs(_rows(batch, "completion_mask"))


def run_sft_with_own_collator(
    policy: Path, examples: Sequence[dict[str, Any]], folder: Path
) -> tuple[Run, list[TokenRow]]:
    """Runs SFTTrainer with its own tokenization and collator; also returns the rows of its batch."""
    arguments = SFTConfig(**_arguments(folder, len(examples)), shuffle_dataset=False)
    dataset = Dataset.from_list(list(examples))
    trainer = _Sft(args=arguments, train_dataset=dataset, **_policy(policy))
    batch = trainer.data_collator(list(trainer.train_dataset))
    return _run(trainer), _rows({**batch, "mask": (batch["labels"] != IGNORED).long()}, "mask")


def collate_pairs(examples: Sequence[dict[str, Any]]) -> dict[str, Tensor]:
    """Returns a batch of the chosen rows followed by the rejected rows, with a mask of the actions."""
    rows = [TokenRow(*example["rows"][side]) for side in (0, 1) for example in examples]
    batch = {
        "input_ids": _padded([row.ids for row in rows]),
        "attention_mask": _padded([[1] * len(row.ids) for row in rows]),
        "completion_mask": _padded([row.mask for row in rows]),
    }
    precomputed = [name for name in ("ref_chosen_logps", "ref_rejected_logps") if name in examples[0]]
    return batch | {name: torch.tensor([example[name] for example in examples]) for name in precomputed}


class _Losses:
    losses: list[float]

    def training_step(self, *arguments: Any, **named: Any) -> Tensor:
        loss: Tensor = super().training_step(*arguments, **named)  # type: ignore[misc]
        self.losses.append(loss.item())
        return loss


class _Sft(_Losses, SFTTrainer):  # type: ignore[misc]
    pass


class _Dpo(_Losses, DPOTrainer):  # type: ignore[misc]
    pass


def _run(trainer: Any) -> Run:
    trainer.losses = []
    with first_gradient() as found:
        trainer.train()
    trained = trained_parameters(trainer.model)
    gradient = {name: g for name, p in trained.items() for own, g in found if own is p}
    return Run(trainer.losses, gradient, {name: p.detach().clone() for name, p in trained.items()})


def _arguments(folder: Path, rows: int) -> dict[str, Any]:
    """Returns options for one batch of all rows per epoch, in float32 with AdamW at a constant rate."""
    return {
        "output_dir": str(folder),
        "per_device_train_batch_size": rows,
        "num_train_epochs": UPDATES,
        "learning_rate": RATE,
        "lr_scheduler_type": "constant",
        "weight_decay": 0.0,
        "max_grad_norm": NO_CLIPPING,
        "max_length": None,
        "bf16": False,
        "gradient_checkpointing": False,
        "use_cpu": True,
        "logging_strategy": "no",
        "save_strategy": "no",
        "report_to": "none",
        "disable_tqdm": True,
    }


def _policy(policy: Path) -> dict[str, Any]:
    return {"model": load(policy), "processing_class": AutoTokenizer.from_pretrained(policy)}


def _padded(rows: Sequence[list[int]]) -> Tensor:
    width = max(map(len, rows))
    return torch.tensor([[*row, *[0] * (width - len(row))] for row in rows])


def _pairs(rows: list[TokenRow]) -> list[Pair]:
    half = len(rows) // 2
    return list(zip(rows[:half], rows[half:], strict=True))


def _rows(batch: dict[str, Tensor], mask: str) -> list[TokenRow]:
    """Returns the rows of a padded batch without padding; no token predicts the first, so its mask is 0."""
    lengths = batch["attention_mask"].sum(1).tolist()
    columns = zip(batch["input_ids"].tolist(), batch[mask].tolist(), lengths, strict=True)
    return [TokenRow(ids[:length], [0, *actions[1:length]]) for ids, actions, length in columns]
