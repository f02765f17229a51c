"""A pytest plugin that writes the costs of each test file; the counterpart of measured-environment.cjs."""

import json
import os
import time
from collections import defaultdict
from pathlib import Path

import pytest

_rows = Path(os.environ["TEST_COSTS"])
_costs: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item):
    """Adds the processor time and the duration of a test, its fixtures included, to its file."""
    file = str(item.path.relative_to(Path.cwd().parent))
    Path(f"{_rows}.{os.getpid()}").write_text(file, encoding="utf-8")
    used, at = sum(os.times()[:4]), time.monotonic()
    try:
        return (yield)
    finally:
        cost = _costs[file]
        cost[0] += sum(os.times()[:4]) - used
        cost[1] += time.monotonic() - at


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Appends one row for each test file. A shard whose tests all belong to `test:all` succeeds."""
    if session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
        session.exitstatus = pytest.ExitCode.OK
    with _rows.open("a", encoding="utf-8") as rows:
        for file, (seconds, duration) in _costs.items():
            row = {"file": file, "pid": os.getpid(), "ticks": round(seconds * 100), "ms": round(duration * 1000)}
            rows.write(json.dumps(row) + "\n")
