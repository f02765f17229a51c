"""Runs every trainer on every model and method, and compares their measurements."""

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

from .accelerations import VARIANT, for_method, found_on
from .policies import IMPORTED, SEED, SIZES, Size, make_policy, override
from .request import Measurement, Request, read_measurement, write_json
from .rows import dataset_rows, encode, write_examples
from .trajectories import Pair, long_pairs, make_pairs, read_pairs, shares, write_rows
from .utilization import utilization

BETA = 0.1
BASELINES = {
    ("trl", "sft"): ["trl"],
    ("trl", "dpo"): ["trl", "trl-precomputed"],
    ("transformers", "sft"): ["transformers"],
    ("transformers", "dpo"): ["transformers"],
}

Row = dict[str, Any]


def compare(options: Namespace, work: Path) -> list[Row]:
    """Returns one row per model and method, in the order of the options."""
    device = options.device
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    rows: list[Row] = []
    for model in options.models:
        size = override(
            SIZES.get(model, IMPORTED),
            updates=options.updates,
            epochs=options.epochs,
            batch_size=options.batch_size,
            micro_batch_tokens=options.micro_batch_tokens,
            adapter=options.adapter,
            precision=options.precision,
            repeats=options.repeat,
        )
        pairs = _pairs(size, options.data)
        store = work / model.replace("/", "-").replace(":", "-")
        store.mkdir()
        _log(f"{model}: creating the policy")
        policy = make_policy(model, size, pairs, store)
        for method in options.methods:
            request = _request(size, method, policy, pairs, store, device, options)
            baselines = BASELINES[options.against, method]
            if options.against == "trl" and request.accelerations:
                baselines = [*baselines, VARIANT]
            found = _measure(request, baselines, size.repeats, model)
            rows.append(
                {
                    "model": model,
                    "method": method,
                    "device": _device_name(device),
                    **_conditions(request, size),
                    **_compare(found, options.against),
                    **_data_shares(pairs, method),
                }
            )
            if device == "cuda":
                paths = {"policy": Path(request.policy), "pairs": Path(request.pairs)}
                rows[-1] |= utilization(rows[-1], options.against, **paths)
    return rows


def _pairs(size: Size, given: Path | None) -> list[Pair]:
    required = -(-size.updates // size.epochs) * size.batch_size
    found = read_pairs(given) if given else make_pairs(190 if size.row_characters else required)
    if size.row_characters:
        found = long_pairs(found, size.row_characters)
        found = [found[i % len(found)] for i in range(required)]
    if len(found) < required:
        raise SystemExit(f"--data: found {len(found)} pairs, expected {required}; lower --updates")
    return found[:required]


def _request(
    size: Size, method: str, policy: Path, pairs: Sequence[Pair], store: Path, device: str, options: Namespace
) -> Request:
    accelerations = options.trl_options
    if accelerations is None:
        accelerations = found_on(device, size.precision)
    examples, dataset = store / f"{method}-rows.jsonl", store / f"{method}.jsonl"
    write_examples(examples, encode(pairs, policy, method=method, max_length=size.max_length))
    write_rows(dataset, dataset_rows(pairs, method))
    return Request(
        trainer="ours",
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
        threads=options.threads,
        seed=SEED,
        engine=options.engine,
        accelerations=for_method(accelerations, method),
    )


def _measure(
    request: Request, baselines: list[str], repeats: int, model: str
) -> dict[str, list[Measurement]]:
    """Runs the trainers alternately, so that other load of the machine affects all of them equally."""
    found: dict[str, list[Measurement]] = defaultdict(list)
    for repeat in range(repeats):
        for trainer in ["ours", *baselines]:
            work = Path(request.work) / f"{request.method}-{trainer}-{repeat}"
            work.mkdir()
            measurement = _run(Request(**{**vars(request), "trainer": trainer, "work": str(work)}))
            if measurement is None:
                continue
            found[trainer].append(measurement)
            rate = measurement.tokens / measurement.seconds
            _log(f"{model} {request.method} {trainer}: {rate:,.0f} tokens/s, {measurement.seconds:.1f} s")
    return found


def _run(request: Request) -> Measurement | None:
    """Returns None if the accelerated variant fails, because not every model supports its options."""
    input_path, output_path = Path(request.work) / "request.json", Path(request.work) / "measurement.json"
    write_json(input_path, request)
    module_path = {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "-m", "trainer_bench.run_trainer", str(input_path), str(output_path)]
    threads = {"OMP_NUM_THREADS": str(request.threads)}
    child = subprocess.run(command, env=os.environ | module_path | threads, capture_output=True, text=True)
    if child.returncode != 0:
        if request.trainer == VARIANT:
            _log(f"left out: {VARIANT} with {', '.join(request.accelerations)}:\n{child.stderr[-1000:]}")
            return None
        raise SystemExit(f"{request.trainer} failed:\n{child.stderr[-4000:]}")
    return read_measurement(output_path)


def _compare(found: dict[str, list[Measurement]], against: str) -> Row:
    """Compares the median rates of ours and of the fastest baseline; the losses must be equal."""
    rates = {
        trainer: statistics.median(m.tokens / m.seconds for m in repeats)
        for trainer, repeats in found.items()
    }
    by_cpu = {
        trainer: statistics.median(m.tokens / m.cpu_seconds for m in repeats)
        for trainer, repeats in found.items()
    }
    baselines = {trainer: rate for trainer, rate in rates.items() if trainer != "ours"}
    fastest = max(baselines, key=lambda trainer: baselines[trainer])
    ours, theirs = found["ours"], found[fastest]
    return {
        "ours_tokens_s": round(rates["ours"], 1),
        f"{against}_tokens_s": round(rates[fastest], 1),
        "ratio": round(rates["ours"] / rates[fastest], 3),
        "cpu_ratio": round(by_cpu["ours"] / by_cpu[fastest], 3),
        "loss_difference": max(
            _difference(ours[0].losses, m.losses) for trainer in baselines for m in found[trainer]
        ),
        "first_loss": ours[0].losses[0],
        "last_loss": ours[0].losses[-1],
        "updates": len(ours[0].losses),
        "tokens": ours[0].tokens,
        "fastest": fastest,
        "tokens_cpu_s": {trainer: round(rate, 1) for trainer, rate in by_cpu.items()},
        "variants": {trainer: round(rate, 1) for trainer, rate in rates.items()},
        "repeats": {
            trainer: [round(m.tokens / m.seconds, 1) for m in repeats] for trainer, repeats in found.items()
        },
        "ours_peak_rss_bytes": max(m.peak_rss_bytes for m in ours),
        f"{against}_peak_rss_bytes": max(m.peak_rss_bytes for m in theirs),
        "ours_peak_device_bytes": ours[0].peak_device_bytes,
        f"{against}_peak_device_bytes": theirs[0].peak_device_bytes,
        "versions": theirs[0].versions,
    }


def _difference(ours: list[float], theirs: list[float]) -> float:
    """Returns the largest difference between two loss curves in nats."""
    return max(abs(a - b) for a, b in zip(ours, theirs, strict=True))


def _conditions(request: Request, size: Size) -> Row:
    return {
        "adapter": size.adapter,
        "precision": size.precision,
        "engine": request.engine,
        "threads": request.threads,
        "batch_size": size.batch_size,
        "epochs": size.epochs,
        "accelerations": request.accelerations,
        "load_1m": round(os.getloadavg()[0], 2),
    }


def _data_shares(pairs: Sequence[Pair], method: str) -> Row:
    """Returns the fractions of actions and, for pairs, of the common prefix, by characters."""
    rows, actions, shared = (sum(column) for column in zip(*shares(pairs), strict=True))
    fractions = {"action_share": round(actions / rows, 3)}
    return fractions | ({"shared_share": round(2 * shared / rows, 3)} if method == "dpo" else {})


def _device_name(device: str) -> str:
    if device == "cuda":
        return torch.cuda.get_device_name()
    text = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    names = [line.split(":", 1)[1].strip() for line in text.splitlines() if line.startswith("model name")]
    return f"{names[0] if names else 'CPU'}, {os.cpu_count()} cores"


def _log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
