"""python -m coevolve_environments.plugins.appworld.install [--root FOLDER]: completes the installation.

Runs in the engine's own interpreter. Unpacks the apps inside the package, and with `--root` downloads
AppWorld's data into `data` of that folder. Both steps run the package's own commands.
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
    parser.add_argument("--root", type=Path, help="folder for the data (setting hosted.appworld.root)")
    root = parser.parse_args().root
    spec = find_spec("appworld")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(f"appworld is not installed in {sys.prefix}: run `coevolve env install appworld`")
    unpack(Path(spec.submodule_search_locations[0]))
    if root is not None:
        download(root.resolve())


def unpack(package: Path) -> None:
    """Unpacks the apps, which the package bundles to keep crawlers out. Idempotent."""
    if not (package / "apps" / "simple_note" / "apis.py").exists():
        _appworld(package, "install")
    # A child may run as another user, without permission to store compiled files.
    compileall.compile_dir(package, quiet=2)


def download(root: Path) -> None:
    """
    Raises:
        SystemExit: the download failed.
    """
    if (root / "data" / "datasets").is_dir():
        print(f"AppWorld's data is in {root / 'data'} already")
        return
    root.mkdir(parents=True, exist_ok=True)
    output = _appworld(root, "download", "data")
    shutil.rmtree(root / ".tmp", ignore_errors=True)
    if not (root / "data" / "datasets").is_dir():
        raise SystemExit(
            f"download of AppWorld's data into {root} failed: {output}; "
            "run `appworld download data` on another machine and copy the folder"
        )
    hide_gold(root / "data")
    print(f"AppWorld's data is in {root / 'data'}: set hosted.appworld.root to {root}")


def hide_gold(data: Path) -> None:
    """Restricts tests and solutions to the owner: the server reads them, a child of another user cannot."""
    for gold in data.glob("tasks/*/ground_truth"):
        gold.chmod(0o700)


def _appworld(folder: Path, *command: str) -> str:
    """Runs a command of the package and returns the end of its output."""
    environ = {**os.environ, "APPWORLD_ROOT": str(folder), "PYTHON_DOTENV_DISABLED": "1"}
    if command[0] == "install":  # unused tests of the package go there
        environ["APPWORLD_CACHE"] = str(Path(sys.prefix) / "appworld-cache")
    program = "from appworld.cli import main; main()"
    completed = subprocess.run(
        [sys.executable, "-c", program, *command], env=environ, cwd=folder, capture_output=True, text=True
    )
    words = f"{completed.stdout}\n{completed.stderr}".split()
    output = " ".join(words[-12:]) or "no output"
    if completed.returncode and command[0] == "install":
        raise SystemExit(f"`appworld install` failed: {output}")
    return output


if __name__ == "__main__":
    main()
