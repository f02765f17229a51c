"""Files that no child may read: ours and its operator's."""

import os
from pathlib import Path

_OF_THE_USER = (
    ".aws",
    ".azure",
    ".config/gcloud",
    ".docker",
    ".git-credentials",
    ".gnupg",
    ".kube",
    ".netrc",
    ".npmrc",
    ".pgpass",
    ".ssh",
)
_STATE_OF_ENVIRONMENTS = "environments"

_named: set[Path] = set()


def hide_from_children(path: Path) -> None:
    """Adds a file or folder, such as that of the server's token, to those that exist by convention."""
    _named.add(path)


def hidden_files() -> list[str]:
    """Those that exist now, resolved: what was named, the user's keys, and the installation's own files, its
    secrets and its database among them, but for what the environments keep there."""
    found = [*_named, *(Path.home() / name for name in _OF_THE_USER), *_of_the_installation()]
    return sorted({str(path.resolve()) for path in found if path.exists()})


def _of_the_installation() -> list[Path]:
    stack = os.environ.get("COEVOLVE_STACK")
    if not stack or not Path(stack).is_dir():
        return []
    return [path for path in Path(stack).iterdir() if path.name != _STATE_OF_ENVIRONMENTS]
