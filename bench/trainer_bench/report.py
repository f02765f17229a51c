"""The printed table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .accelerations import VARIANT

MIB = 2**20


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Returns one line per model and method, followed by the machine and the versions."""
    against = "trl" if "trl_tokens_s" in rows[0] else "transformers"
    header = [
        "model",
        "method",
        "trained",
        "ours tok/s",
        f"{against} tok/s",
        "ratio",
        "by cpu",
        "loss diff",
        "ours MiB",
        f"{against} MiB",
    ]
    on_device = rows[0]["ours_peak_device_bytes"] is not None
    memory = "device" if on_device else "rss"
    lines = [header + (["ours MFU", f"{against} MFU"] if on_device else [])]
    for row in rows:
        bytes_of = [row[f"{side}_peak_{memory}_bytes"] for side in ("ours", against)]
        line = [row["model"], row["method"], f"{_trained(row)}, {row['precision']}"]
        line += [
            f"{row['ours_tokens_s']:,.0f}",
            f"{row[f'{against}_tokens_s']:,.0f}",
            f"{row['ratio']:.2f}",
            f"{row['cpu_ratio']:.2f}",
        ]
        line += [f"{row['loss_difference']:.1e}", *(f"{b / MIB:,.0f}" for b in bytes_of)]
        shares = [_percent(row[f"{side}_mfu"]) for side in ("ours", against)] if on_device else []
        lines.append(line + shares)
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    text = ["  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip() for line in lines]
    variants = [_variants(row) for row in rows if len(row["variants"]) > 2]
    return "\n".join([*text, "", *variants, _machine(rows[0])])


def _percent(share: float | None) -> str:
    return "unknown" if share is None else f"{100 * share:.1f} %"


def _trained(row: dict[str, Any]) -> str:
    return "LoRA" if row["adapter"] == "lora" else "all weights"


def _variants(row: dict[str, Any]) -> str:
    rates = ", ".join(f"{trainer} {rate:,.0f}" for trainer, rate in row["variants"].items())
    options = ", ".join(row["accelerations"])
    used = f"; {VARIANT} has {options}" if VARIANT in row["variants"] else ""
    return f"{row['model']} {row['method']}: {rates} tokens/s; compared with {row['fastest']}{used}"


def _machine(row: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in row["versions"].items())
    return f"{row['device']}, {row['threads']} threads, load {row['load_1m']}; {versions}"
