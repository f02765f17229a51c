"""Which of the shop's goals are train and which are held out.

WebShop itself (Yao et al. 2022, arXiv:2207.01206; the environment of its baselines) takes goals 0 to 499 for
the test, 500 to 1,499 for development and the rest for training. ETO (arXiv:2403.02502) trains on 1,824 goals
and tests on 200, by lists of its own, which come as files.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from coevolve_environments.protocol import Split
from coevolve_environments.settings import Settings

PUBLISHED_TEST = 500
PUBLISHED_TRAIN = 1_500
SMALL_SHOP_GOALS = 6_910
"""Goals of the 1,000 products that AgentGym's server loads; the whole shop with human goals has 12,087."""

_MOST = 100_000


def read_goals(settings: Settings) -> Mapping[Split, list[int]]:
    """Of `goals` (6910), and for each side of ranges (`train`, `held_out`) or a JSON list (`..._file`).

    Raises:
        ValueError: a side is empty, names a goal that the shop does not have, or shares one with the other.
    """
    count = settings.integer("goals", SMALL_SHOP_GOALS)
    sides: dict[Split, list[int]] = {
        "train": _side(settings, "train", f"{PUBLISHED_TRAIN}-{count - 1}", count),
        "held-out": _side(settings, "held_out", f"0-{PUBLISHED_TEST - 1}", count),
    }
    if both := sorted(set(sides["train"]) & set(sides["held-out"])):
        raise settings.invalid("train", "goals that are not held out", both[0])
    return sides


def goals_in(text: str) -> list[int]:
    """`0-499,700` as goals, each once, ascending.

    Raises:
        ValueError: not ranges, or one that ends before it begins.
    """
    goals: set[int] = set()
    for part in text.split(","):
        first, _, last = (piece.strip() for piece in part.partition("-"))
        low, high = int(first), int(last or first)
        if not 0 <= low <= high < _MOST:
            raise ValueError(f"no range of goals: {part!r}")
        goals.update(range(low, high + 1))
    return sorted(goals)


def _side(settings: Settings, key: str, default: str, count: int) -> list[int]:
    file, text = settings.path(f"{key}_file"), settings.text(key)
    if file is not None and text is not None:
        raise settings.invalid(key, f"only one of {key} and {key}_file", text)
    try:
        goals = _listed(file) if file is not None else goals_in(text or default)
    except (OSError, ValueError):
        wanted = "a JSON list of goal numbers" if file is not None else "ranges such as 0-499,700"
        raise settings.invalid(f"{key}_file" if file else key, wanted, text or str(file or default)) from None
    if not goals or goals[-1] >= count:
        raise settings.invalid(
            key, f"some of the shop's {count} goals (hosted.{settings.name}.goals)", goals[-1:]
        )
    return goals


def _listed(file: Path) -> list[int]:
    goals = json.loads(file.read_text(encoding="utf8"))
    if not isinstance(goals, list) or not all(type(goal) is int and goal >= 0 for goal in goals):
        raise ValueError("not a list of goals")
    return sorted(set(goals))
