"""Reads which training jobs of this machine hold devices, or wait for them.

The train workers write the lease files (src/training/local/device-leases.ts). A lease is valid while its
trainer or the worker that claimed it is running: a killed process leaves a file, but no lease.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class DeviceLeases:
    """The leases in a folder, which is None if no job of this machine shares devices with this server."""

    folder: Path | None

    def holder(self, devices: Collection[int]) -> str | None:
        """Returns a holder of one of the devices; None if all are free."""
        for lease in self._read():
            if set(devices) & set(lease["devices"]) and _is_valid(lease):
                return str(lease["holder"])
        return None

    def _read(self) -> list[dict[str, Any]]:
        leases = []
        for file in sorted(self.folder.glob("*.json")) if self.folder else []:
            try:
                leases.append(json.loads(file.read_text()))
            except (OSError, ValueError):  # removed meanwhile; files are written atomically
                continue
        return leases


def _is_valid(lease: dict[str, Any]) -> bool:
    if _is_running(lease["claimant"]["pid"], lease["claimant"]["startTime"]):
        return True
    try:
        pid, _, *start_time = (Path(lease["job"]) / "run" / "trainer.pid").read_text().split()
    except (OSError, ValueError):
        return False
    return _is_running(int(pid), " ".join(start_time))


def _is_running(pid: int, start_time: str) -> bool:
    """The start time, in ticks since boot, distinguishes the process from a later one with the same pid."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return False
    return fields[0] != "Z" and fields[19] == start_time
