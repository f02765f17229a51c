"""appworld-mini: our small world, with AppWorld's own engine and evaluator.

Twelve tasks about the notes of fictional people. It tests the adapter; its figures are not AppWorld results.
"""

import os
import shutil
import subprocess
import tempfile
import threading
from concurrent.futures import Future
from hashlib import sha256
from pathlib import Path

import coevolve_environments
from coevolve_environments.plugins.appworld import mini_evaluation, mini_notes, mini_world
from coevolve_environments.plugins.appworld.dataset import Dataset
from coevolve_environments.plugins.appworld.environment import AppWorld, find_appworld
from coevolve_environments.protocol import Environment, NotReady, SpecDefaults
from coevolve_environments.settings import Settings

_BUILD_SECONDS = 900  # takes 6 s on a free core
_WAIT_SECONDS = 30.0
_BUILD = (
    "import sys; sys.path.append(sys.argv[1]);"  # last, so that the engine's own packages come first
    "from coevolve_environments.plugins.appworld.mini_world import build; build(sys.argv[2])"
)


def create(settings: Settings) -> Environment:
    """Reads pool, episodes_per_child, memory_mb and code_seconds."""
    python = find_appworld(settings)
    folder = settings.state / f"world-{_version()}"
    world = _World(python, folder)

    def dataset() -> Dataset:
        world.require()
        return Dataset(settings.name, folder / "data", folder / "gold")

    return AppWorldMini(settings, python, folder / "data", folder, dataset)


class AppWorldMini(AppWorld):
    name = "appworld-mini"
    description = (
        "Twelve small tasks about notes, in a made-up world of ours, by Python code (AppWorld's engine; "
        "not AppWorld's tasks: its figures are no AppWorld results)."
    )
    # Its first draw builds the world, for which a start does not wait
    spec_defaults = SpecDefaults(train_tasks=6, held_out_tasks=6, max_positions=2048, max_tokens=192)


class _World:
    """The folder of the world, which is built at first use while requests wait for it."""

    def __init__(self, python: Path, folder: Path) -> None:
        self._python = python
        self._folder = folder
        self._lock = threading.Lock()
        self._building: Future[None] | None = None

    def require(self) -> None:
        """
        Raises:
            NotReady: building takes more than 30 s, as on a busy machine; it goes on.
        """
        with self._lock:
            if self._building is None and not self._folder.exists():
                self._building = Future()
                threading.Thread(target=self._build, args=(self._building,), daemon=True).start()
            building = self._building
        if building is None:
            return
        try:
            building.result(_WAIT_SECONDS)
        except TimeoutError:
            raise NotReady(0, 1, "worlds") from None

    def _build(self, building: Future[None]) -> None:
        try:
            _build_once(self._python, self._folder)
        except Exception as error:  # the next request builds again
            self._building = None
            building.set_exception(error)
        else:
            building.set_result(None)


def _build_once(python: Path, folder: Path) -> None:
    """Builds the world in one rename, because several servers may share the folder."""
    unfinished = Path(tempfile.mkdtemp(prefix="unfinished-", dir=folder.parent))
    unfinished.chmod(0o755)
    try:
        _build(python, unfinished)
        unfinished.rename(folder)
    except OSError:
        if not folder.exists():  # otherwise another server has built it
            raise
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _build(python: Path, folder: Path) -> None:
    package = Path(coevolve_environments.__file__).parent.parent
    completed = subprocess.run(
        [python, "-c", _BUILD, package, folder],
        capture_output=True,
        text=True,
        timeout=_BUILD_SECONDS,
        cwd=folder,
        env={"PATH": os.defpath, "LANG": "C.UTF-8", "HOME": str(folder), "PYTHON_DOTENV_DISABLED": "1"},
    )
    if completed.returncode:
        raise RuntimeError(f"building the small world failed: {completed.stderr[-500:]}")


def _version() -> str:
    """Returns a hash of the modules that define the world."""
    modules = (mini_notes, mini_world, mini_evaluation)
    files = [Path(str(module.__file__)).read_bytes() for module in modules]
    return sha256(b"".join(files)).hexdigest()[:12]
