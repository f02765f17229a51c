"""The trainer bench prints its measurements, and both sides train on the same batches."""

import json
import os
import subprocess
import sys
from pathlib import Path

from job_folder import SOURCES

BENCH = Path(__file__).parents[3] / "bench"
OPTIONS = ["--models", "tiny", "--methods", "sft", "--device", "cpu", "--json"]
OPTIONS += ["--updates", "2", "--epochs", "2", "--batch-size", "2", "--repeat", "1"]


def test_a_row_of_the_bench_contains_both_rates_and_equal_losses() -> None:
    command = [sys.executable, "-m", "trainer_bench", *OPTIONS]
    environment = os.environ | {"PYTHONPATH": f"{BENCH}{os.pathsep}{SOURCES}"}
    child = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert child.returncode == 0, child.stderr
    (row,) = json.loads(child.stdout)
    assert {"ours_tokens_s", "trl_tokens_s", "ratio", "cpu_ratio"} <= row.keys()
    assert {"ours_peak_rss_bytes", "trl_peak_rss_bytes", "device", "precision", "versions"} <= row.keys()
    assert row["updates"] == 2
    assert row["loss_difference"] < 1e-4
