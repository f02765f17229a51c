"""What one measured process is asked to do, and what it answers."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

METHODS = ("sft", "dpo")


@dataclass(frozen=True)
class Request:
    """The same for every side: model, data, batches, learning rate, precision and seed."""

    side: str
    """`ours`, `trl`, `trl-precomputed` or `transformers`."""
    method: str
    policy: str
    """Folder of the policy that training starts from; the reference of `dpo` too."""
    pairs: str
    """Token rows by example: see rows.py."""
    dataset: str
    """The same examples as our trainer reads them."""
    work: str
    """Folder of this process alone."""
    batch_size: int
    micro_batch: int
    """Examples whose activations a baseline holds at once; a divisor of `batch_size`."""
    micro_batch_tokens: int
    """... and tokens, with padding, that our trainer does."""
    epochs: int
    max_length: int
    learning_rate: float
    beta: float
    adapter: str
    precision: str
    device: str
    threads: int
    seed: int


@dataclass(frozen=True)
class Measurement:
    seconds: float
    """From tokens in memory to the last update, the reference's pass included; no import, no tokenizing, no
    loading of weights."""
    cpu_seconds: float
    """Of all threads of the process in that time: what a busy machine does not stretch."""
    tokens: int
    """Of all rows of all updates, without padding: what `seconds` bought."""
    losses: list[float]
    """Nats, one per update."""
    peak_rss_bytes: int
    peak_device_bytes: int | None
    versions: dict[str, str]


def write_json(path: Path, value: Request | Measurement) -> None:
    path.write_text(json.dumps(asdict(value)))


def read_request(path: Path) -> Request:
    return Request(**json.loads(path.read_text()))


def read_measurement(path: Path) -> Measurement:
    return Measurement(**json.loads(path.read_text()))
