"""Which environments exist, and which of them this machine can host."""

import importlib
import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import cast

from coevolve_environments.protocol import Environment, Unavailable
from coevolve_environments.settings import Settings, SettingsFile

MODULES: Mapping[str, str] = {
    "bfcl": "coevolve_environments.plugins.bfcl.environment",
    "intercode-sql": "coevolve_environments.plugins.intercode_sql.environment",
}
"""Modules with `create(settings)`, imported when their environment is asked for."""


@dataclass(frozen=True)
class Built:
    environments: dict[str, Environment]
    unavailable: dict[str, str]
    """Environment and what it lacks."""


def build_environments(names: Sequence[str] | None, file: SettingsFile) -> Built:
    """Makes the named environments, in order; all that this machine can host when `names` is None.

    Raises:
        Unavailable: a named environment lacks something.
        ValueError: an unknown name, or settings that cannot be used.
    """
    modules = _modules(file)
    for name in [*(names or []), *file.hosted]:
        if name not in modules:
            raise ValueError(f"unknown environment {name!r}; known: {', '.join(modules)}")
    built = Built({}, {})
    for name in names or modules:
        settings = file.of(name)
        try:
            built.environments[name] = _create(name, modules[name], settings)
        except Unavailable as lack:
            if names is not None:
                raise Unavailable(f"{name}: {lack}") from lack
            built.unavailable[name] = str(lack)
        else:
            settings.refuse_unknown()
    return built


def _modules(file: SettingsFile) -> dict[str, str | Path]:
    plugins = file.plugins()
    if taken := sorted(set(plugins) & set(MODULES)):
        raise ValueError(f"hosted.{taken[0]}.plugin: the name belongs to a built-in environment")
    return {**MODULES, **plugins}


def _create(name: str, module: str | Path, settings: Settings) -> Environment:
    loaded = _load(name, module) if isinstance(module, Path) else importlib.import_module(module)
    create = getattr(loaded, "create", None)
    if not callable(create):
        raise ValueError(f"hosted.{name}.plugin: {module} has no function `create(settings)`")
    return cast(Callable[[Settings], Environment], create)(settings)


def _load(name: str, file: Path) -> ModuleType:
    if not file.is_file():
        raise ValueError(f"hosted.{name}.plugin: no file {file}")
    spec = importlib.util.spec_from_file_location(f"coevolve_plugin_{name.replace('-', '_')}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module
