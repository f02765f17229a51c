"""The operator's games in the layout of ALFWorld's data: set, task in a room, trial."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from coevolve_environments.protocol import Json, Split

GAMES = "json_2.1.1"
_FILE = "game.tw-pddl"
SETS: Mapping[str, str] = {"train": "train", "seen": "valid_seen", "unseen": "valid_unseen"}
"""Our names of the published sets. The held-out split is one of the last two."""
TYPES: Mapping[str, int] = {
    "pick_and_place_simple": 1,
    "look_at_obj_in_light": 2,
    "pick_clean_then_place_in_recep": 3,
    "pick_heat_then_place_in_recep": 4,
    "pick_cool_then_place_in_recep": 4,
    "pick_two_obj_and_place": 5,
}
"""The six published task types, each with our difficulty, 1 to 5."""
_NOT_SUPPORTED = ("movable", "Sliced")  # omitted by ALFWorld's own loader too


@dataclass(frozen=True)
class Game:
    subset: str
    path: str
    """Relative to the folder of the sets, with slashes."""

    @property
    def type(self) -> str:
        return self.path.split("/")[1].split("-")[0]

    @property
    def split(self) -> Split:
        return "train" if self.subset == "train" else "held-out"

    @property
    def features(self) -> Json:
        room = self.path.split("/")[1]
        return {
            "pattern": self.type,
            "group": room.rsplit("-", 1)[-1],
            "difficulty": TYPES[self.type],
            "set": self.subset,
        }


@dataclass(frozen=True)
class Games:
    """Lists each set once, without reading the games."""

    data: Path
    _found: dict[str, list[Game]] = field(default_factory=dict)

    def in_subset(self, subset: str) -> list[Game]:
        """Returns the games of a set, sorted by path."""
        if subset not in self._found:
            folder = self.data / GAMES
            files = sorted(folder.glob(f"{SETS[subset]}/*/*/{_FILE}"))
            games = [Game(subset, file.parent.relative_to(folder).as_posix()) for file in files]
            self._found[subset] = [game for game in games if _is_supported(game)]
        return self._found[subset]

    def find(self, path: object) -> Game | None:
        return next((game for subset in SETS for game in self.in_subset(subset) if game.path == path), None)


def _is_supported(game: Game) -> bool:
    return game.type in TYPES and not any(word in game.path for word in _NOT_SUPPORTED)
