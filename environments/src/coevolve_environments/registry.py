"""Registry of the environments, and construction of those that this machine can host."""

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
from coevolve_environments.sessions.leases import TimeoutSettings, read_timeouts
from coevolve_environments.settings import PLUGIN, Settings, SettingsFile

MODULES: Mapping[str, str] = {
    "bfcl": "coevolve_environments.plugins.bfcl.environment",
    "intercode-sql": "coevolve_environments.plugins.intercode_sql.environment",
    "intercode-mariadb": "coevolve_environments.plugins.intercode_mariadb.environment",
    "warehouse": "coevolve_environments.plugins.warehouse.environment",
    "scienceworld": "coevolve_environments.plugins.scienceworld.environment",
    "env-service": "coevolve_environments.plugins.env_service.environment",
    "textworld-express": "coevolve_environments.plugins.textworld_express.environment",
    "webshop": "coevolve_environments.plugins.webshop.environment",
    "appworld": "coevolve_environments.plugins.appworld.environment",
    "appworld-mini": "coevolve_environments.plugins.appworld.mini",
    "alfworld": "coevolve_environments.plugins.alfworld.environment",
}
"""Modules with `create(settings)`, imported on demand. A settings section with another name mounts one again
by `plugin: <name>`, for example one adapter for two servers."""


@dataclass(frozen=True)
class BuiltEnvironments:
    environments: dict[str, Environment]
    unavailable: dict[str, str]
    """Environment and reason."""
    timeouts: dict[str, TimeoutSettings] = field(default_factory=dict)
    """Timeouts from the settings, by environment."""


def build_environments(names: Sequence[str] | None, file: SettingsFile) -> BuiltEnvironments:
    """Makes the named environments in order, or all that this machine can host if `names` is None.

    Raises:
        Unavailable: a named environment cannot run here.
        ValueError: unknown name or invalid settings.
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
        except Unavailable as error:
            if names is not None:
                raise Unavailable(f"{name}: {error}") from error
            built.unavailable[name] = str(error)
        else:
            settings.refuse_unknown()
    return built


def _modules(file: SettingsFile) -> dict[str, str | Path]:
    plugins = file.plugins()
    if taken := sorted(set(plugins) & set(MODULES)):
        raise ValueError(f"hosted.{taken[0]}.plugin: this name is reserved for a built-in environment")
    mounted = {
        name: MODULES[value] if value in MODULES else file.section(name).path(PLUGIN)
        for name, value in plugins.items()
    }
    return {**MODULES, **{name: module for name, module in mounted.items() if module is not None}}


def _create(name: str, module: str | Path, settings: Settings) -> Environment:
    key = f"hosted.{name}.plugin"
    loaded = _load(key, name, module) if isinstance(module, Path) else importlib.import_module(module)
    create = getattr(loaded, "create", None)
    if not callable(create):
        raise ValueError(f"{key}: {module} has no function `create(settings)`")
    try:
        environment = cast(Callable[[Settings], object], create)(settings)
    except Exception as error:
        names_setting = isinstance(error, Unavailable) or str(error).startswith("hosted.")
        if names_setting or not isinstance(module, Path):
            raise
        raise ValueError(f"{key}: {_location(error, module)}") from error
    if not isinstance(environment, Environment):
        kind = type(environment).__name__
        raise ValueError(f"{key}: `create` of {module} returned {kind}; expected an Environment")
    if environment.name != name:
        raise ValueError(f"{key}: {module} made an environment named {environment.name!r}; expected {name!r}")
    return environment


def _load(key: str, name: str, file: Path) -> ModuleType:
    if not file.is_file():
        raise ValueError(f"{key}: {file} is neither a file nor the name of a built-in environment")
    spec = importlib.util.spec_from_file_location(f"coevolve_plugin_{name.replace('-', '_')}", file)
    if spec is None or spec.loader is None:
        raise ValueError(f"{key}: {file} does not end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # required by dataclasses
    try:
        spec.loader.exec_module(module)
    except Unavailable:
        raise
    except Exception as error:
        raise ValueError(f"{key}: {_location(error, file)}") from error
    return module


def _location(error: Exception, file: Path) -> str:
    """Returns `file:line: error`, with the last traceback line in the plugin's own file if there is one."""
    if isinstance(error, SyntaxError):
        return f"{error.filename}:{error.lineno}: {type(error).__name__}: {error.msg}"
    frames = traceback.extract_tb(error.__traceback__)
    last = ([frame for frame in frames if frame.filename == str(file)] or frames)[-1]
    return f"{last.filename}:{last.lineno}: {type(error).__name__}: {error}"
