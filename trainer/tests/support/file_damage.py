"""Damage to files, as after a full or defective disk or a power loss."""

import random
from pathlib import Path

from hypothesis import strategies as st

KINDS = ("truncated", "emptied", "garbage", "one bit", "zeros at the end", "removed")

damages = st.tuples(st.sampled_from(KINDS), st.integers(0, 2**32 - 1))


def damage(file: Path, kind: str, seed: int) -> bool:
    """Damages a file at an offset drawn from `seed`; returns whether its bytes have changed."""
    draw, before = random.Random(seed), file.read_bytes()
    if kind == "removed":
        file.unlink()
        return True
    offset = draw.randrange(len(before)) if before else 0
    flipped = bytes(byte ^ 1 << draw.randrange(8) for byte in before[offset : offset + 1])
    after = {
        "truncated": before[:offset],
        "emptied": b"",
        "garbage": draw.randbytes(max(1, len(before))),
        "one bit": before[:offset] + flipped + before[offset + 1 :],
        "zeros at the end": before[:offset] + bytes(len(before) - offset),  # pages that were not written
    }[kind]
    file.write_bytes(after)
    return after != before
