"""The operator's settings: a YAML file with one section per environment under `hosted`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, cast

import yaml

Value = TypeVar("Value")
PLUGIN = "plugin"
"""Key of a section that mounts the operator's Python file, or a built-in environment under another name."""


class Settings:
    """One environment's section. Getters record their keys, so that unknown keys can be rejected."""

    def __init__(self, name: str, values: Mapping[str, Any], folder: Path, state: Path) -> None:
        """
        Args:
            folder: base of relative paths in the section.
            state: folder that the environment may write to; created at first use.
        """
        self.name = name
        self._values = values
        self._folder = folder
        self._state = state
        self._read_keys = {PLUGIN}

    @property
    def state(self) -> Path:
        folder = self._state.resolve() / self.name  # absolute: children have another working folder
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def text(self, key: str, default: str | None = None) -> str | None:
        return self._checked(key, default, "a text", lambda value: isinstance(value, str) and value != "")

    def path(self, key: str) -> Path | None:
        path = self.program(key)
        return None if path is None else path.resolve()

    def program(self, key: str) -> Path | None:
        """Returns an absolute path; a link stays, because an interpreter finds its packages beside it."""
        text = self.text(key)
        return None if text is None else (self._folder / Path(text).expanduser()).absolute()

    def integer(self, key: str, default: int, *, minimum: int = 1) -> int:
        def is_valid(value: Any) -> bool:
            return isinstance(value, int) and not isinstance(value, bool) and value >= minimum

        return self._checked(key, default, f"an integer from {minimum}", is_valid)

    def flag(self, key: str, default: bool) -> bool:
        return self._checked(key, default, "true or false", lambda value: isinstance(value, bool))

    def seconds(self, key: str, default: float | None = None) -> float | None:
        def is_valid(value: Any) -> bool:
            return isinstance(value, int | float) and not isinstance(value, bool) and value > 0

        value = self._checked(key, default, "seconds above 0", is_valid)
        return None if value is None else float(value)

    def invalid(self, key: str, expected: str, found: object) -> ValueError:
        return ValueError(f"hosted.{self.name}.{key}: expected {expected}, found {found!r}")

    def refuse_unknown(self) -> None:
        """
        Raises:
            ValueError: the section has a key that no getter has read.
        """
        if unknown := sorted(set(self._values) - self._read_keys):
            known = ", ".join(sorted(self._read_keys)) or "none"
            raise ValueError(f"hosted.{self.name}.{unknown[0]}: unknown setting; known: {known}")

    def _checked(self, key: str, default: Value, expected: str, is_valid: Callable[[Any], bool]) -> Value:
        """Returns the value, or the default if it is missing."""
        self._read_keys.add(key)
        value = self._values.get(key)
        if value is not None and not is_valid(value):
            raise self.invalid(key, expected, value)
        return default if value is None else cast(Value, value)


@dataclass(frozen=True)
class SettingsFile:
    """The sections of the file, and the folder that environments may write to."""

    state: Path
    folder: Path = Path()
    hosted: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def section(self, name: str) -> Settings:
        return Settings(name, self.hosted.get(name, {}), self.folder, self.state)

    def plugins(self) -> dict[str, str]:
        """Returns the value of `plugin` by environment, for the sections that have it."""
        values = {name: self.section(name).text(PLUGIN) for name in self.hosted}
        return {name: value for name, value in values.items() if value is not None}


def read_settings(path: Path | None, state: Path) -> SettingsFile:
    """
    Raises:
        OSError: the file cannot be read.
        ValueError: the file is not YAML of the expected shape.
    """
    if path is None:
        return SettingsFile(state)
    try:
        content = yaml.safe_load(path.read_text(encoding="utf8")) or {}
    except yaml.YAMLError as error:
        raise ValueError(f"{path} is not YAML: {error}") from None
    hosted = (content.get("hosted") or {}) if isinstance(content, dict) else None
    if not isinstance(hosted, dict) or not all(isinstance(v or {}, dict) for v in hosted.values()):
        raise ValueError(f"{path}: `hosted` must map environment names to their settings")
    return SettingsFile(state, path.resolve().parent, {str(n): v or {} for n, v in hosted.items()})
