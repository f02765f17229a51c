"""The instruction of each goal: one for all trajectories of a task.

Many shops draw a goal's price limit per session, so the same goal has different instructions. The first
instruction that was seen is kept under the state folder; a session with another one is not played.
"""

import re
import threading
import time
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from coevolve_environments.plugins.atomic_files import write_atomically
from coevolve_environments.plugins.remote.client import RemoteFault
from coevolve_environments.plugins.webshop.shop import Page, Shop, ShopSession
from coevolve_environments.protocol import NotReady

_READ_SECONDS = 30.0  # then the data route responds with its progress
_SHOWN = re.compile(r"Instruction:\s*(?:\[SEP\]\s*)?(.+?)\s*(?:\[SEP\]|\n|$)")


class OtherInstruction(RemoteFault):
    """No session of the shop showed the task's instruction."""


class Instructions:
    def __init__(self, shop: Shop, state: Path, url: str) -> None:
        """
        Args:
            state: folder of the environment; each shop has another folder in it.
        """
        self._shop = shop
        self._folder = state / "instructions" / sha256(url.encode()).hexdigest()[:16]
        self._lock = threading.Lock()

    def read(self, goals: Sequence[int]) -> list[str]:
        """Returns the instructions of goals. Those without one are opened once, in one session.

        Raises:
            NotReady: it takes more than 30 s; the next call continues from there.
            RemoteFault: the shop failed.
        """
        deadline = time.monotonic() + _READ_SECONDS
        missing = [goal for goal in goals if not self._file(goal).exists()]
        for number, (goal, page) in enumerate(self._shop.first_pages(missing)):
            self._keep(goal, page)
            if time.monotonic() > deadline and number + 1 < len(missing):
                raise NotReady(len(goals) - len(missing) + number + 1, len(goals), "instructions")
        return [self._file(goal).read_text(encoding="utf8") for goal in goals]

    def enter(self, goal: int, expected: str | None) -> tuple[ShopSession, Page]:
        """Opens a session that shows an instruction.

        Args:
            expected: instruction of the task's definition; None means the kept one, or else the shown one.

        Raises:
            OtherInstruction: no session did.
            RemoteFault: the shop failed.
        """
        shown: list[str] = []

        def fits(page: Page) -> bool:
            shown.append(instruction_of(page.text))
            return shown[-1] == (self._keep(goal, page) if expected is None else expected)

        entered = self._shop.enter(goal, fits)
        if entered is None:
            wanted = self._file(goal).read_text(encoding="utf8") if expected is None else expected
            raise OtherInstruction(
                f"goal {goal}: {len(shown)} sessions showed other instructions, the last {shown[-1]!r:.400}; "
                f"expected {wanted!r:.400}; raise hosted.<name>.price_draws, or draw new tasks without "
                f"{self._folder} if the shop has other goals now"
            )
        return entered

    def _keep(self, goal: int, page: Page) -> str:
        """Returns the kept instruction; the page's becomes it if there was none."""
        file = self._file(goal)
        with self._lock:
            if not file.exists():
                write_atomically(file, instruction_of(page.text).encode())
        return file.read_text(encoding="utf8")

    def _file(self, goal: int) -> Path:
        return self._folder / f"{goal}.txt"


def instruction_of(page: str) -> str:
    """Returns the instruction of a goal's first page; the whole page if its form is another."""
    return find_instruction(page) or page.strip()


def find_instruction(page: str) -> str | None:
    found = _SHOWN.search(page)
    return found[1] if found else None
