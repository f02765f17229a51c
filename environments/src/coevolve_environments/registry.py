"""Which environments exist, and which of them this machine can host."""

import importlib
import importlib.util
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import cast

from coevolve_environments.protocol import Environment, Unavailable
from coevolve_environments.sessions.timeouts import TimeoutSettings, read_timeouts
from coevolve_environments.settings import PLUGIN, Settings, SettingsFile

MODULES: Mapping[str, str] = {
    "bfcl": "coevolve_environments.plugins.bfcl.environment",
    "intercode-sql": "coevolve_environments.plugins.intercode_sql.environment",
    "intercode-mariadb": "coevolve_environments.plugins.intercode_mariadb.environment",
    "scienceworld": "coevolve_environments.plugins.scienceworld.environment",
    "env-service": "coevolve_environments.plugins.env_service.environment",
    "textworld-express": "coevolve_environments.plugins.textworld_express.environment",
    "webshop": "coevolve_environments.plugins.webshop.environment",
    "appworld": "coevolve_environments.plugins.appworld.environment",
    "appworld-mini": "coevolve_environments.plugins.appworld.mini",
    "alfworld": "coevolve_environments.plugins.alfworld.environment",
}
"""Modules with `create(settings)`, imported when their environment is asked for. A section under another name
mounts one of them once more by `plugin: <name>`, as for two servers that one adapter speaks to."""


@dataclass(frozen=True)
class BuiltEnvironments:
    environments: dict[str, Environment]
    unavailable: dict[str, str]
    """Environment and what it lacks."""
    timeouts: dict[str, TimeoutSettings] = field(default_factory=dict)
    """What the settings say of its sessions."""


def build_environments(names: Sequence[str] | None, file: SettingsFile) -> BuiltEnvironments:
    """Makes the named environments, in order; all that this machine can host when `names` is None.

    Raises:
        Unavailable: a named environment lacks something.
        ValueError: an unknown name, or settings that cannot be used.
    """
    modules = _modules(file)
    for name in [*(names or []), *file.hosted]:
        if name not in modules:
            raise ValueError(f"unknown environment {name!r}; known: {', '.join(modules)}")
    built = BuiltEnvironments({}, {})
    for name in names or modules:
        settings = file.section(name)
        built.timeouts[name] = read_timeouts(settings)
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
    named = {
        name: MODULES[text] if text in MODULES else file.section(name).path(PLUGIN)
        for name, text in plugins.items()
    }
    return {**MODULES, **{name: module for name, module in named.items() if module is not None}}


def _create(name: str, module: str | Path, settings: Settings) -> Environment:
    where = f"hosted.{name}.plugin"
    loaded = _load(where, name, module) if isinstance(module, Path) else importlib.import_module(module)
    create = getattr(loaded, "create", None)
    if not callable(create):
        raise ValueError(f"{where}: {module} has no function `create(settings)`")
    try:
        made = cast(Callable[[Settings], object], create)(settings)
    except Exception as error:
        told = isinstance(error, Unavailable) or str(error).startswith("hosted.")
        if told or not isinstance(module, Path):  # it says by itself what the operator has to change
            raise
        raise ValueError(f"{where}: {_place(error, module)}") from error
    if not isinstance(made, Environment):
        raise ValueError(f"{where}: `create` of {module} gives a {type(made).__name__}, not an Environment")
    if made.name != name:
        raise ValueError(f"{where}: {module} gives an environment named {made.name!r}, not {name!r}")
    return made


def _load(where: str, name: str, file: Path) -> ModuleType:
    if not file.is_file():
        raise ValueError(f"{where}: no file {file}, and no built-in environment of that name")
    spec = importlib.util.spec_from_file_location(f"coevolve_plugin_{name.replace('-', '_')}", file)
    if spec is None or spec.loader is None:
        raise ValueError(f"{where}: {file} does not end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    except Unavailable:
        raise
    except Exception as error:
        raise ValueError(f"{where}: {_place(error, file)}") from error
    return module


def _place(error: Exception, file: Path) -> str:
    """`file:line: what happened`, of the last line in the plug-in's own file where one is on the way."""
    if isinstance(error, SyntaxError):
        return f"{error.filename}:{error.lineno}: {type(error).__name__}: {error.msg}"
    frames = traceback.extract_tb(error.__traceback__)
    last = ([frame for frame in frames if frame.filename == str(file)] or frames)[-1]
    return f"{last.filename}:{last.lineno}: {type(error).__name__}: {error}"
