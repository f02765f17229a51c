"""Train and held-out goals of the shop.

WebShop itself (Yao et al. 2022, arXiv:2207.01206; the environment of its baselines) uses goals 0 to 499 for
test, 500 to 1,499 for development and the rest for training. ETO (arXiv:2403.02502) trains on 1,824 goals and
tests on 200, both listed in files.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from coevolve_environments.protocol import Split
from coevolve_environments.settings import Settings

PUBLISHED_TEST = 500
PUBLISHED_TRAIN = 1_500
SMALL_SHOP_GOALS = 6_910
"""Goals of the 1,000 products that AgentGym's server loads; the full shop with human goals has 12,087."""

_MAX_GOALS = 100_000


def read_goals(settings: Settings) -> Mapping[Split, list[int]]:
    """Reads `goals` (6910), and for each split ranges (`train`, `held_out`) or a JSON list (`..._file`).

    Raises:
        ValueError: a split is empty or contains an unknown goal, or the splits overlap.
    """
    count = settings.integer("goals", SMALL_SHOP_GOALS)
    splits: dict[Split, list[int]] = {
        "train": _goals_of(settings, "train", f"{PUBLISHED_TRAIN}-{count - 1}", count),
        "held-out": _goals_of(settings, "held_out", f"0-{PUBLISHED_TEST - 1}", count),
    }
    if both := sorted(set(splits["train"]) & set(splits["held-out"])):
        raise settings.invalid("train", "goals that are not held out", both[0])
    return splits


def goals_in(text: str) -> list[int]:
    """Parses `0-499,700` as distinct goals in ascending order.

    Raises:
        ValueError: not ranges, or a range that ends before its start.
    """
    goals: set[int] = set()
    for part in text.split(","):
        first, _, last = (piece.strip() for piece in part.partition("-"))
        low, high = int(first), int(last or first)
        if not 0 <= low <= high < _MAX_GOALS:
            raise ValueError(f"invalid range of goals: {part!r}")
        goals.update(range(low, high + 1))
    return sorted(goals)


def _goals_of(settings: Settings, key: str, default: str, count: int) -> list[int]:
    file, text = settings.path(f"{key}_file"), settings.text(key)
    if file is not None and text is not None:
        raise settings.invalid(key, f"only one of {key} and {key}_file", text)
    try:
        goals = _read_list(file) if file is not None else goals_in(text or default)
    except (OSError, ValueError):
        expected = "a JSON list of goal numbers" if file is not None else "ranges such as 0-499,700"
        raise settings.invalid(
            f"{key}_file" if file else key, expected, text or str(file or default)
        ) from None
    if not goals or goals[-1] >= count:
        raise settings.invalid(key, f"goals in 0..{count - 1} (hosted.{settings.name}.goals)", goals[-1:])
    return goals


def _read_list(file: Path) -> list[int]:
    goals = json.loads(file.read_text(encoding="utf8"))
    if not isinstance(goals, list) or not all(type(goal) is int and goal >= 0 for goal in goals):
        raise ValueError("not a list of goals")
    return sorted(set(goals))
