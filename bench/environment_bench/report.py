"""Text output of the benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Json = dict[str, Any]

_COLUMNS = {
    "environment": "environment",
    "reset_ms_p50": "reset p50 ms",
    "reset_ms_p95": "p95",
    "step_ms_p50": "step p50 ms",
    "step_ms_p95": "p95",
    "episodes_s_1": "ep/s at 1",
    "sessions": "sessions",
    "episodes_s": "ep/s",
    "memory_mb_per_session": "MB/session",
    "gold": "gold",
}


def table(rows: Sequence[Json]) -> str:
    """Returns one line per environment with its figures or its error."""
    lines = [list(_COLUMNS.values())]
    lines += [[str(row[key]) for key in _COLUMNS] for row in rows if "error" not in row]
    widths = [max(len(line[i]) for line in lines) for i in range(len(_COLUMNS))]
    text = ["  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip() for line in lines]
    return "\n".join([*text, *(f"{row['environment']}: {row['error']}" for row in rows if "error" in row)])


def format_comparison(comparison: Json) -> str:
    rates, cpu = comparison["episodes_s"], comparison["cpu_ms_per_episode"]
    client, gold = comparison["client_cpu_share"], comparison["gold"]
    lines = [
        f"BFCL gold, {comparison['sessions']} sessions, {comparison['episodes']} episodes per round with"
        f" {comparison['turns_per_episode']} turns each, medians of {comparison['rounds']} rounds,"
        f" load {comparison['load_1m']}:"
    ]
    names = {"ours": "ours", "threads": "official, threads", "loop": "official, event loop"}
    lines += [
        f"  {name:22} {rates[side]:7.1f} ep/s  {cpu[side]:5.2f} ms of CPU time per episode"
        f"  client {client[side]:.0%} of a core  gold {gold[side]}"
        for side, name in names.items()
    ]
    fastest = comparison["official"]
    return "\n".join(
        [
            *lines,
            f"  ratio {comparison['ratio']} to the faster official mode ({fastest});"
            f" by round {comparison['ratios'][fastest]}; by CPU time {comparison['cpu_ratio'][fastest]}",
        ]
    )
