"""When the checkpoints of the builtin engine are written: beside the updates, or while they wait."""

from __future__ import annotations

from pathlib import Path

from torch import Tensor

from ..files.atomic_files import canonical_json, create_empty_directory, sha256_of_file, write_synced
from ..files.disk_space import require_free_space
from ..process_group import ProcessGroup
from ..progress import Progress
from .checkpoint import CURSOR, RANDOM, Cursor, files_of, publish_checkpoint, write_tensors
from .checkpoint_write import CheckpointWrite
from .host_memory import find_shortage, memory_need
from .random_states import capture_random_states
from .train_state import TrainState

BACKGROUND_BYTES = 2**25
"""Smaller checkpoints are written in about the time of their copy, so the updates wait for them."""


class CheckpointWriter(CheckpointWrite):
    """Writes the checkpoints of a job into `folder`; `key` is the job's checkpoint key."""

    def __init__(
        self, folder: Path, key: str, progress: Progress, process_group: ProcessGroup, *, reserve_bytes: int
    ) -> None:
        super().__init__(progress)
        self._folder, self._key, self._reserve_bytes = folder, key, reserve_bytes
        # Two threads must not use the same connections
        self._background = process_group.for_background()

    def save(self, train_state: TrainState, cursor: Cursor, *, updates_wait: bool) -> None:
        """Adds `step-NNNNNN` after the checkpoint before it; collective: call it on every process.

        With `updates_wait` it is published on return. Otherwise the tensors are copied to host memory, if
        there is enough on every process, and the next call, or `finish`, raises what fails.

        Raises:
            JobFailure: `disk-full` when less space than the checkpoint and the reserve is free; then nothing
                is written.
        """
        self.finish()
        group, step = train_state.process_group, cursor.step
        files = {name: dict(named) for name, named in files_of(train_state.own_part(), group.rank).items()}
        size = sum(tensor.nbytes for named in files.values() for tensor in named.values())
        by_rank = group.all_gather(lambda: (capture_random_states(), size, memory_need(size)))
        total = sum(size for _, size, _ in by_rank)
        staging = self._folder / f".staging-{step:06d}"

        def prepare() -> None:
            require_free_space(self._folder, total + self._reserve_bytes)
            create_empty_directory(staging)

        group.on_rank_zero(prepare)
        updates_wait = updates_wait or total < BACKGROUND_BYTES
        shortage = None if updates_wait else find_shortage([need for _, _, need in by_rank])
        updates_wait = updates_wait or shortage is not None
        if not updates_wait:
            files = {
                name: {key: tensor.detach().to("cpu", copy=True) for key, tensor in named.items()}
                for name, named in files.items()
            }
        if group.is_rank_zero:
            files[RANDOM] = _by_rank([states for states, _, _ in by_rank])
        position = canonical_json(vars(cursor))  # now, because the next update changes it

        def write() -> bool:
            return self._write(staging, self._folder / f"step-{step:06d}", files, position)

        if updates_wait:
            self.run(step, write, reason=shortage)
        else:
            self.start(step, write)

    def _write(
        self, staging: Path, final: Path, files: dict[str, dict[str, Tensor]], position: bytes
    ) -> bool:
        """Writes this process's files; rank zero publishes when the files of all are complete."""
        group = self._background

        def write_own() -> dict[str, str]:
            hashes = write_tensors(staging, files)
            if group.is_rank_zero:
                write_synced(staging / CURSOR, position)
                hashes[CURSOR] = sha256_of_file(staging / CURSOR)
            return hashes

        hashes = {name: found for own in group.all_gather(write_own) for name, found in own.items()}
        return group.on_rank_zero(lambda: publish_checkpoint(staging, final, self._key, hashes))


def _by_rank(random_states: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    return {f"{rank}.{name}": state for rank, own in enumerate(random_states) for name, state in own.items()}
