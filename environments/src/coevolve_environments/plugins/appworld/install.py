"""python -m coevolve_environments.plugins.appworld.install [--root FOLDER]: makes the package usable.

Runs in the engine's own interpreter. Unpacks the apps that the package carries, and with `--root` downloads
AppWorld's data into that folder's `data`, by the package's own commands.
"""

import argparse
import compileall
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser("install", description="Unpacks AppWorld's apps; downloads its data.")
    parser.add_argument("--root", type=Path, help="folder for the data: hosted.appworld.root of the settings")
    root = parser.parse_args().root
    spec = find_spec("appworld")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(f"appworld is not installed in {sys.prefix}: run `coevolve env install appworld`")
    unpack(Path(spec.submodule_search_locations[0]))
    if root is not None:
        download(root.resolve())


def unpack(package: Path) -> None:
    """The apps lie in the package as a bundle, so that crawlers do not read them. Harmless when repeated."""
    if not (package / "apps" / "simple_note" / "apis.py").exists():
        _appworld(package, "install")
    # A child may run as another user, who could not keep what it compiles.
    compileall.compile_dir(package, quiet=2)


def download(root: Path) -> None:
    """
    Raises:
        SystemExit: there is no data afterwards; says why.
    """
    if (root / "data" / "datasets").is_dir():
        print(f"AppWorld's data is in {root / 'data'} already")
        return
    root.mkdir(parents=True, exist_ok=True)
    said = _appworld(root, "download", "data")
    shutil.rmtree(root / ".tmp", ignore_errors=True)
    if not (root / "data" / "datasets").is_dir():
        raise SystemExit(
            f"AppWorld's data could not be downloaded into {root}: its server is out of reach from here, or "
            f"has moved. Where it can be reached, `appworld download data` makes the folder to copy: {said}"
        )
    hide_gold(root / "data")
    print(f"AppWorld's data is in {root / 'data'}: set hosted.appworld.root to {root}")


def hide_gold(data: Path) -> None:
    """Only the owner may read the tests and solutions: the server does, a child of another user does not."""
    for gold in data.glob("tasks/*/ground_truth"):
        gold.chmod(0o700)


def _appworld(folder: Path, *command: str) -> str:
    """Runs a command of the package; gives its last words."""
    environ = {**os.environ, "APPWORLD_ROOT": str(folder), "PYTHON_DOTENV_DISABLED": "1"}
    if command[0] == "install":  # its second bundle, the package's tests, goes there; nobody needs it
        environ["APPWORLD_CACHE"] = str(Path(sys.prefix) / "appworld-cache")
    program = "from appworld.cli import main; main()"
    ended = subprocess.run(
        [sys.executable, "-c", program, *command], env=environ, cwd=folder, capture_output=True, text=True
    )
    words = f"{ended.stdout}\n{ended.stderr}".split()
    said = " ".join(words[-12:]) or "it said nothing"
    if ended.returncode and command[0] == "install":
        raise SystemExit(f"`appworld install` failed: {said}")
    return said


if __name__ == "__main__":
    main()
