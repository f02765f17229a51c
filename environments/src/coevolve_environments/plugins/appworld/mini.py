"""appworld-mini: a small world of ours, played by AppWorld's own engine and judged by its own evaluator.

Twelve tasks about the notes of made-up people. It proves the adapter; its figures are no AppWorld results.
"""

import os
import shutil
import subprocess
import tempfile
from hashlib import sha256
from pathlib import Path

import coevolve_environments
from coevolve_environments.plugins.appworld import mini_evaluation, mini_notes, mini_world
from coevolve_environments.plugins.appworld.dataset import Dataset
from coevolve_environments.plugins.appworld.environment import AppWorld, find_appworld
from coevolve_environments.protocol import Environment
from coevolve_environments.settings import Settings

_BUILD_SECONDS = 95  # 6 s on a free core
_BUILD = (
    "import sys; sys.path.append(sys.argv[1]);"  # last, so that the engine's own packages go first
    "from coevolve_environments.plugins.appworld.mini_world import build; build(sys.argv[2])"
)


def create(settings: Settings) -> Environment:
    """Of pool, recycle_after, memory_mb and code_seconds."""
    python = find_appworld(settings)
    folder = settings.state / f"world-{_version()}"
    return AppWorldMini(settings, python, folder / "data", lambda: _world(settings.name, python, folder))


class AppWorldMini(AppWorld):
    name = "appworld-mini"
    description = (
        "Twelve small tasks about notes, in a made-up world of ours, by Python code (AppWorld's engine; "
        "not AppWorld's tasks: its figures are no AppWorld results)."
    )


def _world(name: str, python: Path, folder: Path) -> Dataset:
    """Builds the world where there is none: whole or not at all, for several servers may share the folder."""
    if not folder.exists():
        unfinished = Path(tempfile.mkdtemp(prefix="unfinished-", dir=folder.parent))
        unfinished.chmod(0o755)
        try:
            _build(python, unfinished)
            unfinished.rename(folder)
        except OSError:
            if not folder.exists():  # otherwise another server was faster
                raise
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    return Dataset(name, folder / "data", folder / "gold")


def _build(python: Path, folder: Path) -> None:
    package = Path(coevolve_environments.__file__).parent.parent
    ended = subprocess.run(
        [python, "-c", _BUILD, package, folder],
        capture_output=True,
        text=True,
        timeout=_BUILD_SECONDS,
        cwd=folder,
        env={"PATH": os.defpath, "LANG": "C.UTF-8", "HOME": str(folder), "PYTHON_DOTENV_DISABLED": "1"},
    )
    if ended.returncode:
        raise RuntimeError(f"the small world could not be built: {ended.stderr[-500:]}")


def _version() -> str:
    """Of what the world is made of."""
    made_of = (mini_notes, mini_world, mini_evaluation)
    files = [Path(str(module.__file__)).read_bytes() for module in made_of]
    return sha256(b"".join(files)).hexdigest()[:12]
