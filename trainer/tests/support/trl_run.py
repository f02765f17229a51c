"""Three updates by TRL's own trainers."""

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
from token_rows import Pair, TokenRow
from watched_run import NO_CLIPPING, RATE, UPDATES, Run, first_gradient

IGNORED = -100


def load(policy: Path) -> Any:
    """As transformers loads it, or peft where it is an adapter: then the policy beneath lies beside it."""
    if not (policy / "adapter_config.json").exists():
        return AutoModelForCausalLM.from_pretrained(policy, dtype=torch.float32)
    beneath = load(policy.parent / str(read_manifest(policy)["model_hash"]))
    return PeftModel.from_pretrained(beneath, policy, is_trainable=True)


def trained_parameters(model: torch.nn.Module) -> dict[str, Tensor]:
    """By the names of a policy's file, in the model's order; peft's in memory hold the adapter's too."""
    named = ((n, p) for n, p in model.named_parameters() if p.requires_grad)
    return {name.replace(".default.", "."): parameter for name, parameter in named}


def labelled(row: TokenRow) -> dict[str, list[int]]:
    """A pre-tokenized row for SFTTrainer."""
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
    """Over the actions alone: DPOTrainer's own collator would count the observations as completion."""
    text = {"prompt": "a", "chosen": "b", "rejected": "c"}  # it prepares every dataset of texts itself
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


def run_dpo_as_it_collates(
    policy: Path, examples: Sequence[dict[str, Any]], folder: Path
) -> tuple[Run, list[Pair]]:
    """DPOTrainer with its own tokenizing and its own collator; the pairs are those of its batch."""
    arguments = DPOConfig(**_arguments(folder, len(examples)))
    dataset = Dataset.from_list(list(examples))
    trainer = _Dpo(args=arguments, train_dataset=dataset, **_policy(policy))
    batch = trainer.data_collator(list(trainer.train_dataset))
    return _run(trainer), _pairs(_rows(batch, "completion_mask"))


def run_sft_as_it_collates(
    policy: Path, examples: Sequence[dict[str, Any]], folder: Path
) -> tuple[Run, list[TokenRow]]:
    """SFTTrainer with its own tokenizing and its own collator; the rows are those of its batch."""
    arguments = SFTConfig(**_arguments(folder, len(examples)), shuffle_dataset=False)
    dataset = Dataset.from_list(list(examples))
    trainer = _Sft(args=arguments, train_dataset=dataset, **_policy(policy))
    batch = trainer.data_collator(list(trainer.train_dataset))
    return _run(trainer), _rows({**batch, "mask": (batch["labels"] != IGNORED).long()}, "mask")


def collate_pairs(examples: Sequence[dict[str, Any]]) -> dict[str, Tensor]:
    """Chosen rows first, then the rejected ones, with the mask of the actions; pads get no attention."""
    rows = [TokenRow(*example["rows"][side]) for side in (0, 1) for example in examples]
    batch = {
        "input_ids": _padded([row.ids for row in rows]),
        "attention_mask": _padded([[1] * len(row.ids) for row in rows]),
        "completion_mask": _padded([row.mask for row in rows]),
    }
    known = [name for name in ("ref_chosen_logps", "ref_rejected_logps") if name in examples[0]]
    return batch | {name: torch.tensor([example[name] for example in examples]) for name in known}


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
    """All rows are one batch, so an epoch is an update; float32, AdamW at a constant rate."""
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
    """The rows of a padded batch without their padding; a first token is no action: nothing predicts it."""
    lengths = batch["attention_mask"].sum(1).tolist()
    columns = zip(batch["input_ids"].tolist(), batch[mask].tolist(), lengths, strict=True)
    return [TokenRow(ids[:length], [0, *acts[1:length]]) for ids, acts, length in columns]
