"""What a full disk, a bad one or a machine that dies does to a file."""

import random
from pathlib import Path

from hypothesis import strategies as st

DAMAGES = ("cut", "emptied", "garbage", "one byte", "zeros at the end", "removed")

damages = st.tuples(st.sampled_from(DAMAGES), st.integers(0, 2**32 - 1))


def damage(file: Path, kind: str, seed: int) -> bool:
    """Damages a file, at a place drawn from `seed`; returns whether its bytes are others now."""
    draw, before = random.Random(seed), file.read_bytes()
    if kind == "removed":
        file.unlink()
        return True
    at = draw.randrange(len(before)) if before else 0
    flipped = bytes(byte ^ 1 << draw.randrange(8) for byte in before[at : at + 1])
    after = {
        "cut": before[:at],
        "emptied": b"",
        "garbage": draw.randbytes(max(1, len(before))),
        "one byte": before[:at] + flipped + before[at + 1 :],
        "zeros at the end": before[:at] + bytes(len(before) - at),  # pages that never reached the disk
    }[kind]
    file.write_bytes(after)
    return after != before
