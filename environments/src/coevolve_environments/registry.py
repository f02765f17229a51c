"""Registry of the environments, and construction of those that this machine can host."""

import hashlib
import importlib
import importlib.util
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import cast

from coevolve_environments.plugin_files import files_of
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


class BrokenPlugin(ValueError):
    """The operator's Python file of an environment cannot be loaded; the message names file and line."""


@dataclass(frozen=True)
class BuiltEnvironments:
    environments: dict[str, Environment]
    unavailable: dict[str, str]
    """Environment and reason."""
    timeouts: dict[str, TimeoutSettings] = field(default_factory=dict)
    """Timeouts from the settings, by environment."""
    plugins: dict[str, "Plugin"] = field(default_factory=dict)
    """The operator's own environments. A broken one is also among the unavailable ones."""
    missing: dict[str, Callable[[], Environment]] = field(default_factory=dict)
    """Makes a built-in environment that is unavailable now; it can be hosted after its installation."""


class Plugin:
    """The operator's Python file of one environment, which may change while the server runs."""

    def __init__(self, name: str, path: Path, file: SettingsFile) -> None:
        self.name = name
        self.path = path
        self._file = file
        self._loaded: dict[Path, str | None] = {}

    def load(self) -> Environment:
        """Makes the environment from the file, and from the files beside it that it names, as they are now.

        Raises:
            Unavailable: the environment cannot run here.
            BrokenPlugin: the file cannot be loaded.
            ValueError: invalid settings.
        """
        self._loaded = {path: _digest(path) for path in files_of(self.path)}
        for path in self._loaded:
            with suppress(OSError):  # compiled code is known by second and size, which a quick change keeps
                Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)
        for name, module in list(sys.modules.items()):
            if (origin := getattr(module, "__file__", None)) and Path(origin) in self._loaded:
                del sys.modules[name]  # its import runs the file again
        return _create(self.name, self.path, self._file.section(self.name))

    @property
    def has_changed(self) -> bool:
        """Whether a file differs from what was loaded."""
        return any(_digest(path) != digest for path, digest in self._loaded.items())


def _digest(path: Path) -> str | None:
    with suppress(OSError):
        return hashlib.sha256(path.read_bytes()).hexdigest()
    return None


def build_environments(names: Sequence[str] | None, file: SettingsFile) -> BuiltEnvironments:
    """Makes the named environments in order, or all that this machine can host if `names` is None.

    Raises:
        Unavailable: a named environment cannot run here.
        BrokenPlugin: the operator's file of a named environment cannot be loaded.
        ValueError: unknown name or invalid settings.
    """
    modules = _modules(file)
    for name in [*(names or []), *file.hosted]:
        if name not in modules:
            raise ValueError(f"unknown environment {name!r}; known: {', '.join(modules)}")
    built = BuiltEnvironments({}, {})
    for name in names or modules:
        module = modules[name]
        built.timeouts[name] = read_timeouts(file.section(name))
        make: Callable[[], Environment]
        if isinstance(module, Path):
            built.plugins[name] = Plugin(name, module, file)
            make = built.plugins[name].load
        else:
            make = partial(_make_built_in, name, module, file)
        try:
            built.environments[name] = make()
        except Unavailable as error:
            if names is not None:
                raise Unavailable(f"{name}: {error}") from error
            built.unavailable[name] = str(error)
            if name not in built.plugins:
                built.missing[name] = make
        except BrokenPlugin as error:
            if names is not None:
                raise
            built.unavailable[name] = str(error)
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


def _make_built_in(name: str, module: str, file: SettingsFile) -> Environment:
    return _create(name, module, file.section(name))


def _create(name: str, module: str | Path, settings: Settings) -> Environment:
    key = f"hosted.{name}.plugin"
    read_timeouts(settings)
    loaded = _load(key, name, module) if isinstance(module, Path) else importlib.import_module(module)
    create = getattr(loaded, "create", None)
    if not callable(create):
        raise BrokenPlugin(f"{key}: {module} has no function `create(settings)`")
    try:
        environment = cast(Callable[[Settings], object], create)(settings)
    except Exception as error:
        names_setting = isinstance(error, Unavailable) or str(error).startswith("hosted.")
        if names_setting or not isinstance(module, Path):
            raise
        raise BrokenPlugin(f"{key}: {_location(error, module)}") from error
    if not isinstance(environment, Environment):
        kind = type(environment).__name__
        raise BrokenPlugin(f"{key}: `create` of {module} returned {kind}; expected an Environment")
    if environment.name != name:
        raise BrokenPlugin(
            f"{key}: {module} made an environment named {environment.name!r}; expected {name!r}"
        )
    settings.refuse_unknown()
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
        raise BrokenPlugin(f"{key}: {_location(error, file)}") from error
    return module


def _location(error: Exception, file: Path) -> str:
    """Returns `file:line: error`, with the last traceback line in the plugin's own file if there is one."""
    if isinstance(error, SyntaxError):
        return f"{error.filename}:{error.lineno}: {type(error).__name__}: {error.msg}"
    frames = traceback.extract_tb(error.__traceback__)
    last = ([frame for frame in frames if frame.filename == str(file)] or frames)[-1]
    return f"{last.filename}:{last.lineno}: {type(error).__name__}: {error}"
