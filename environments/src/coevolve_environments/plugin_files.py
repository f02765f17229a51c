"""The files of the operator's plug-in: its Python file, and what it names in the same folder."""

import re
from pathlib import Path


def files_of(plugin: Path) -> list[Path]:
    """Returns the plug-in and the files beside it that it names, also through others.

    A module is named by its name, in an import or as the program of a child; another file by its whole name.
    """
    beside = [path for path in sorted(plugin.parent.glob("*")) if path.is_file()]
    found, open_ends = [plugin], [plugin]
    while open_ends:
        text = _text(open_ends.pop())
        named = [path for path in beside if path not in found and _is_named(path, text)]
        found += named
        open_ends += [path for path in named if path.suffix == ".py"]
    return found


def _is_named(path: Path, text: str) -> bool:
    name = path.stem if path.suffix == ".py" else path.name
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) is not None


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
