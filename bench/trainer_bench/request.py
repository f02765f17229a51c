"""Input and output of a measured process."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

METHODS = ("sft", "dpo")


@dataclass(frozen=True)
class Request:
    """Model, data, batches, learning rate, precision and seed: equal for every trainer."""

    trainer: str
    """`ours`, `trl`, `trl-precomputed`, `trl-accelerated` or `transformers`."""
    method: str
    policy: str
    """Folder of the policy from which training starts; also the reference of `dpo`."""
    pairs: str
    """File of token rows by example: see rows.py."""
    dataset: str
    """The same examples as our trainer's dataset."""
    work: str
    """Folder of this process."""
    batch_size: int
    micro_batch: int
    """Examples per micro-batch of a baseline; a divisor of `batch_size`."""
    micro_batch_tokens: int
    """Max tokens, with padding, per micro-batch of our trainer."""
    epochs: int
    max_length: int
    learning_rate: float
    beta: float
    adapter: str
    precision: str
    device: str
    threads: int
    seed: int
    engine: str
    """Engine of our trainer: `builtin` or `trl`."""
    accelerations: list[str]
    """Used by `trl-accelerated`: see accelerations.py."""


@dataclass(frozen=True)
class Measurement:
    seconds: float
    """From tokens in memory to the last update, including the reference's passes, without imports,
    tokenization and loading of weights."""
    cpu_seconds: float
    """CPU time of all threads in that time, which depends less on other load of the machine."""
    tokens: int
    """Tokens of all rows of all updates, without padding."""
    losses: list[float]
    """Loss of each update in nats."""
    peak_rss_bytes: int
    peak_device_bytes: int | None
    versions: dict[str, str]


def write_json(path: Path, value: Request | Measurement) -> None:
    path.write_text(json.dumps(asdict(value)))


def read_request(path: Path) -> Request:
    return Request(**json.loads(path.read_text()))


def read_measurement(path: Path) -> Measurement:
    return Measurement(**json.loads(path.read_text()))
