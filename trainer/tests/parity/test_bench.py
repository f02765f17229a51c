"""The trainer bench prints its measurements, and both sides train on the same batches."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from trainer_bench.accelerations import for_method, found_on
from trainer_bench.report import table
from trainer_bench.utilization import utilization

from job_folder import SOURCES

pytestmark = pytest.mark.of_all

BENCH = Path(__file__).parents[3] / "bench"

OPTIONS = ["--methods", "sft", "--device", "cpu", "--json", "--adapter", "none", "--precision", "float32"]
OPTIONS += ["--updates", "2", "--epochs", "2", "--batch-size", "2", "--repeat", "1"]


def run_bench(*options: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "trainer_bench", *OPTIONS, *options]
    environment = os.environ | {"PYTHONPATH": f"{BENCH}{os.pathsep}{SOURCES}"}
    child = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert child.returncode == 0, child.stderr
    row: dict[str, Any]
    (row,) = json.loads(child.stdout)
    return row


@pytest.fixture(scope="module")
def row() -> dict[str, Any]:
    return run_bench("--models", "tiny", "--trl-options", "padding-free")


def test_a_row_of_the_bench_contains_both_rates_and_equal_losses(row: dict[str, Any]) -> None:
    assert {"ours_tokens_s", "trl_tokens_s", "ratio", "cpu_ratio"} <= row.keys()
    assert {"ours_peak_rss_bytes", "trl_peak_rss_bytes", "device", "precision", "versions"} <= row.keys()
    assert row["updates"] == 2
    assert row["loss_difference"] < 1e-4  # with the accelerated variant
    assert row["variants"].keys() == {"ours", "trl", "trl-accelerated"}


def test_the_table_of_a_gpu_has_peak_memory_and_mfu_of_both_trainers(
    row: dict[str, Any], tmp_path: Path, trained: Path
) -> None:
    measured = {"ours_peak_device_bytes": 3 * 2**30, "trl_peak_device_bytes": 5 * 2**30}
    on_gpu = row | measured | {"device": "NVIDIA H100 80GB HBM3", "precision": "bfloat16"}
    on_gpu |= {"ours_tokens_s": 2e8, "trl_tokens_s": 1e8}
    pairs = tmp_path / "rows.jsonl"
    pairs.write_text(json.dumps([[list(range(64)), [0] * 32 + [1] * 32]]) + "\n")
    shares = utilization(on_gpu, "trl", policy=trained, pairs=pairs)
    assert shares["ours_mfu"] == pytest.approx(2 * (shares["trl_mfu"] or 0), rel=1e-3)
    header, line, _, variants, machine = table([on_gpu | shares]).splitlines()
    for name in ("ours MiB", "trl MiB", "ours MFU", "trl MFU"):
        assert name in header
    assert "3,072" in line
    assert "5,120" in line
    assert line.endswith(" %")
    assert variants.endswith("trl-accelerated has padding-free")
    assert machine.startswith("NVIDIA H100 80GB HBM3, 1 threads")


def test_trl_is_accelerated_on_a_gpu_by_what_is_installed() -> None:
    assert found_on("cpu", "bfloat16") == []
    assert "compile" in found_on("cuda", "bfloat16")
    assert for_method(["padding-free", "compile"], "dpo") == ["compile"]


def test_a_model_is_named_by_the_source_of_its_import(trained: Path, tmp_path: Path) -> None:
    row = run_bench("--models", str(trained), "--micro-batch-tokens", "4096")
    assert row["model"] == str(trained)
    assert row["loss_difference"] < 1e-4
