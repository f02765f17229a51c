"""Shows files below folders that only root may enter to a process of another user, by mounts of its own.

The child imports this module, so it needs only the standard library.
"""

import ctypes
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

_CLONE_NEWNS = 0x20000
_MS_NOSUID, _MS_NODEV, _MS_BIND, _MS_REC, _MS_PRIVATE = 0x2, 0x4, 0x1000, 0x4000, 0x40000


def show(paths: Sequence[str]) -> None:
    """Replaces each closed folder above the paths by an empty one with these paths alone, for this process.

    Modes of the files stay. The process must be root, and have one thread.

    Args:
        paths: files and folders, resolved; those that do not exist are skipped.

    Raises:
        OSError: the kernel refuses mounts, as in most containers.
    """
    closed = {path: folder for path in _outermost(paths) if (folder := _closed_folder(Path(path)))}
    _checked(ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWNS), "unshare")
    _mount(None, "/", None, _MS_REC | _MS_PRIVATE)
    files = {path: os.open(path, os.O_PATH | os.O_CLOEXEC) for path in closed}
    for parent in _outermost([str(folder) for folder in closed.values()]):
        _mount("tmpfs", parent, "tmpfs", _MS_NOSUID | _MS_NODEV, "mode=755,size=1m")
    for path, file in files.items():
        _make_target(Path(path), is_folder=stat.S_ISDIR(os.fstat(file).st_mode))
        _mount(f"/proc/self/fd/{file}", path, None, _MS_BIND | _MS_REC)
        os.close(file)
    os.chdir(os.getcwd())  # the folder of this name in the new mounts


def _outermost(paths: Sequence[str]) -> Iterator[str]:
    known = {Path(path) for path in paths if os.path.exists(path)}
    yield from sorted(str(path) for path in known if known.isdisjoint(path.parents))


def _closed_folder(path: Path) -> Path | None:
    """Returns the outermost folder above a path that other users cannot enter."""
    above = reversed(path.parents)
    return next((folder for folder in above if not folder.stat().st_mode & stat.S_IXOTH), None)


def _make_target(path: Path, *, is_folder: bool) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if is_folder:
        path.mkdir(exist_ok=True)
    else:
        path.touch()


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    texts = [None if text is None else text.encode() for text in (source, target, kind, data)]
    libc = ctypes.CDLL(None, use_errno=True)
    _checked(libc.mount(*texts[:3], ctypes.c_ulong(flags), texts[3]), f"mount {target}")


def _checked(result: int, call: str) -> None:
    if result:
        raise OSError(ctypes.get_errno(), call)
