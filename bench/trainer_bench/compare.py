"""Runs every side on every model and method, and sets them side by side."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from argparse import Namespace
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from .policies import SEED, SIZES, Size, make_policy, overridden
from .request import Measurement, Request, read_measurement, write_json
from .rows import dataset_rows, encode, write_examples
from .trajectories import Pair, long_pairs, make_pairs, read_pairs, shares, write_rows
from .utilisation import utilisation

BETA = 0.1
SIDES = {
    ("trl", "sft"): ["trl"],
    ("trl", "dpo"): ["trl", "trl-precomputed"],
    ("transformers", "sft"): ["transformers"],
    ("transformers", "dpo"): ["transformers"],
}

Row = dict[str, Any]


def compare(options: Namespace, work: Path) -> list[Row]:
    """One row per model and method, in the order asked for."""
    device = options.device
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    rows: list[Row] = []
    for model in options.models:
        size = overridden(
            SIZES[model],
            updates=options.updates,
            epochs=options.epochs,
            batch_size=options.batch_size,
            micro_batch_tokens=options.micro_batch_tokens,
            adapter=options.adapter,
            precision=options.precision,
            turns=options.repeat,
        )
        pairs = _pairs(size, options.data)
        store = work / model
        store.mkdir()
        _say(f"{model}: making the policy")
        policy = make_policy(model, size, pairs, store)
        for method in options.methods:
            request = _request(size, method, policy, pairs, store, device, options.threads)
            found = _turns(request, SIDES[options.against, method], size.turns, model)
            facts = {
                "model": model,
                "method": method,
                "device": _device_name(device),
                **_facts(request, size),
            }
            rows.append({**facts, **_side_by_side(found, options.against), **_data_facts(pairs, method)})
            if device == "cuda":
                rows[-1]["mfu"] = utilisation(rows[-1], Path(request.policy), Path(request.pairs))
    return rows


def _pairs(size: Size, given: Path | None) -> list[Pair]:
    wanted = -(-size.updates // size.epochs) * size.batch_size
    found = read_pairs(given) if given else make_pairs(190 if size.session_characters else wanted)
    if size.session_characters:
        found = long_pairs(found, size.session_characters)
        found = [found[i % len(found)] for i in range(wanted)]
    if len(found) < wanted:
        raise SystemExit(f"--data: found {len(found)} pairs, {wanted} are needed: lower --updates")
    return found[:wanted]


def _request(
    size: Size, method: str, policy: Path, pairs: Sequence[Pair], store: Path, device: str, threads: int
) -> Request:
    examples, dataset = store / f"{method}-rows.jsonl", store / f"{method}.jsonl"
    write_examples(examples, encode(pairs, policy, method=method, max_length=size.max_length))
    write_rows(dataset, dataset_rows(pairs, method))
    return Request(
        side="ours",
        method=method,
        policy=str(policy),
        pairs=str(examples),
        dataset=str(dataset),
        work=str(store),
        batch_size=size.batch_size,
        micro_batch=min(size.micro_batch, size.batch_size),
        micro_batch_tokens=size.micro_batch_tokens,
        epochs=size.epochs,
        max_length=size.max_length,
        learning_rate=size.sft_learning_rate if method == "sft" else size.dpo_learning_rate,
        beta=BETA,
        adapter=size.adapter,
        precision=size.precision,
        device=device,
        threads=threads,
        seed=SEED,
    )


def _turns(request: Request, against: list[str], turns: int, model: str) -> dict[str, list[Measurement]]:
    """Ours and the others in turn, so that what else the machine does meets all of them alike."""
    found: dict[str, list[Measurement]] = defaultdict(list)
    for turn in range(turns):
        for side in ["ours", *against]:
            work = Path(request.work) / f"{request.method}-{side}-{turn}"
            work.mkdir()
            found[side].append(_run(Request(**{**vars(request), "side": side, "work": str(work)})))
            last = found[side][-1]
            rate = last.tokens / last.seconds
            _say(f"{model} {request.method} {side}: {rate:,.0f} tokens/s, {last.seconds:.1f} s")
    return found


def _run(request: Request) -> Measurement:
    asked, answered = Path(request.work) / "request.json", Path(request.work) / "measurement.json"
    write_json(asked, request)
    search = {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "-m", "trainer_bench.side", str(asked), str(answered)]
    threads = {"OMP_NUM_THREADS": str(request.threads)}
    child = subprocess.run(command, env=os.environ | search | threads, capture_output=True, text=True)
    if child.returncode != 0:
        raise SystemExit(f"{request.side} failed:\n{child.stderr[-4000:]}")
    return read_measurement(answered)


def _side_by_side(found: dict[str, list[Measurement]], against: str) -> Row:
    """Medians of the rates; the baseline's is that of its faster way. The loss curves must be one."""
    rates = {side: statistics.median(m.tokens / m.seconds for m in turns) for side, turns in found.items()}
    by_cpu = {
        side: statistics.median(m.tokens / m.cpu_seconds for m in turns) for side, turns in found.items()
    }
    others = {side: rate for side, rate in rates.items() if side != "ours"}
    fastest = max(others, key=lambda side: others[side])
    ours, theirs = found["ours"], found[fastest]
    return {
        "ours_tokens_s": round(rates["ours"], 1),
        f"{against}_tokens_s": round(rates[fastest], 1),
        "ratio": round(rates["ours"] / rates[fastest], 3),
        "cpu_ratio": round(by_cpu["ours"] / by_cpu[fastest], 3),
        "loss_difference": max(_difference(ours[0].losses, m.losses) for side in others for m in found[side]),
        "first_loss": ours[0].losses[0],
        "last_loss": ours[0].losses[-1],
        "updates": len(ours[0].losses),
        "tokens": ours[0].tokens,
        "fastest": fastest,
        "tokens_cpu_s": {side: round(rate, 1) for side, rate in by_cpu.items()},
        "ways": {side: round(rate, 1) for side, rate in rates.items()},
        "turns": {side: [round(m.tokens / m.seconds, 1) for m in turns] for side, turns in found.items()},
        "ours_peak_rss_bytes": max(m.peak_rss_bytes for m in ours),
        f"{against}_peak_rss_bytes": max(m.peak_rss_bytes for m in theirs),
        "ours_peak_device_bytes": ours[0].peak_device_bytes,
        f"{against}_peak_device_bytes": theirs[0].peak_device_bytes,
        "versions": theirs[0].versions,
    }


def _difference(ours: list[float], theirs: list[float]) -> float:
    """Largest difference between two loss curves, nats."""
    return max(abs(a - b) for a, b in zip(ours, theirs, strict=True))


def _facts(request: Request, size: Size) -> Row:
    load = os.getloadavg()[0]
    facts = {"adapter": size.adapter, "precision": size.precision, "threads": request.threads}
    return {**facts, "batch_size": size.batch_size, "epochs": size.epochs, "load_1m": round(load, 2)}


def _data_facts(pairs: Sequence[Pair], method: str) -> Row:
    """Shares by characters."""
    rows, actions, shared = (sum(column) for column in zip(*shares(pairs), strict=True))
    facts = {"action_share": round(actions / rows, 3)}
    return facts | ({"shared_share": round(2 * shared / rows, 3)} if method == "dpo" else {})


def _device_name(device: str) -> str:
    if device == "cuda":
        return torch.cuda.get_device_name()
    text = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    names = [line.split(":", 1)[1].strip() for line in text.splitlines() if line.startswith("model name")]
    return f"{names[0] if names else 'CPU'}, {os.cpu_count()} cores"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
