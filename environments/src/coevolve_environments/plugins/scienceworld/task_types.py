"""The thirty task types: the package's splits of their variations, and the step limits of attempts.

scienceworld 1.2.3 has these numbers of variations, and numbers them in the order train, dev, test.
"""

from dataclasses import dataclass

from coevolve_environments.plugins.validation import Fold

VERSION = "1.2.3"
MAX_STEPS = 250
"""The package's own gold paths have at most about 200 actions."""


@dataclass(frozen=True)
class TaskType:
    name: str
    number: str
    """Number in table 2 of the paper."""
    topic: str
    train: int
    dev: int
    test: int
    steps: int
    """Default maximum number of actions of an attempt."""
    gold_length: int
    """Number of actions of a typical gold path, here of the first train variation."""

    def variations(self, fold: Fold) -> range:
        start = {"train": 0, "dev": self.train, "test": self.train + self.dev}[fold]
        return range(start, start + {"train": self.train, "dev": self.dev, "test": self.test}[fold])


# ETO's limits are 10 to 120 actions by type: boil 100, find 15. The others are ours: twice the longest gold
# path of the first and last train and the first dev variation, rounded up to tens, within that range. A task
# with a longer gold path gets the length of the path as its limit.
_ROWS = """
boil                                             1-1  Matter         14   7   9 100  36
melt                                             1-2  Matter         14   7   9  70  32
freeze                                           1-3  Matter         14   7   9  90  22
change-the-state-of-matter-of                    1-4  Matter         14   7   9  50  22
use-thermometer                                  2-1  Measurement   270 135 135  50  21
measure-melting-point-known-substance            2-2  Measurement   218 109 109 120  23
measure-melting-point-unknown-substance          2-3  Measurement   150  75  75 120  31
power-component                                  3-1  Electricity    10   5   5  30   8
power-component-renewable-vs-nonrenewable-energy 3-2  Electricity    10   5   5  50  24
test-conductivity                                3-3  Electricity   450 225 225  60  20
test-conductivity-of-unknown-substances          3-4  Electricity   300 150 150  40  20
find-living-thing                                4-1  Classification 150  75  75  15  10
find-non-living-thing                            4-2  Classification 150  75  75  15   5
find-plant                                       4-3  Classification 150  75  75  15  10
find-animal                                      4-4  Classification 150  75  75  15  10
grow-plant                                       5-1  Biology        62  31  33  90  29
grow-fruit                                       5-2  Biology        62  31  33 120  56
chemistry-mix                                    6-1  Chemistry      16   8   8  50  23
chemistry-mix-paint-secondary-color              6-2  Chemistry      18   9   9  40  20
chemistry-mix-paint-tertiary-color               6-3  Chemistry      18   9   9  70  29
lifespan-longest-lived                           7-1  Biology        62  31  32  20   5
lifespan-shortest-lived                          7-2  Biology        62  31  32  20   5
lifespan-longest-lived-then-shortest-lived       7-3  Biology        62  31  32  20   6
identify-life-stages-1                           8-1  Biology         6   3   5  80  39
identify-life-stages-2                           8-2  Biology         4   2   4  30  14
inclined-plane-determine-angle                   9-1  Forces         84  42  42 120  54
inclined-plane-friction-named-surfaces           9-2  Forces        692 346 348 120  50
inclined-plane-friction-unnamed-surfaces         9-3  Forces         80  40  42 120 177
mendelian-genetics-known-plant                   10-1 Biology        60  30  30 120 127
mendelian-genetics-unknown-plant                 10-2 Biology       240 120 120 120 128
"""


def _read(row: str) -> TaskType:
    name, number, topic, *counts = row.split()
    return TaskType(name, number, topic, *(int(count) for count in counts))


TYPES = {kind.name: kind for kind in map(_read, _ROWS.strip().splitlines())}

DEFAULT_TYPES = tuple(kind.name for kind in TYPES.values() if kind.number.split("-")[0] not in ("9", "10"))
"""ETO omits tasks 9 and 10 because of their long paths. It has 24 types; its paper does not name the other
omitted type."""

SIMPLIFICATIONS = (
    "teleportAction",
    "selfWateringFlowerPots",
    "openContainers",
    "openDoors",
    "noElectricalAction",
)
EASY = "easy"
"""All of them; the last only if the task needs no electricity."""
