"""Files that no child may read: credentials of the installation and of its operator."""

import os
from pathlib import Path

_USER_CREDENTIALS = (
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
_ENVIRONMENTS_STATE = "environments"

_added: set[Path] = set()


def hide_from_children(path: Path) -> None:
    """Adds a file or folder, such as the file with the server's token, to those hidden by convention."""
    _added.add(path)


def hidden_files() -> list[str]:
    """Returns the resolved paths of the hidden files that exist now.

    They are the added ones, the user's credentials, and the installation's own files with its secrets and its
    database. The folder in which environments keep their state stays readable.
    """
    found = [*_added, *(Path.home() / name for name in _USER_CREDENTIALS), *_installation_files()]
    return sorted({str(path.resolve()) for path in found if path.exists()})


def _installation_files() -> list[Path]:
    stack = os.environ.get("COEVOLVE_STACK")
    if not stack or not Path(stack).is_dir():
        return []
    return [path for path in Path(stack).iterdir() if path.name != _ENVIRONMENTS_STATE]
