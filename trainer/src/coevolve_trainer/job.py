"""Parses job.json strictly and verifies every input against its hash before any work."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .failures import bad_input
from .files.atomic_files import canonical_json, verify_file
from .files.policy_files import base_model_of, positions_of, verify_policy
from .parse_settings import parse_settings
from .settings import SETTINGS, DpoSettings, RlSettings, Settings, TrainSettings

REQUIRED = ("job_key", "method", "dataset", "dataset_sha256", "output", "seed")
RL_FIELDS = ("steps", "trainer_state", "trainer_state_sha256")
OPTIONAL_SETTINGS = ("updates", "stop_at_loss")  # newer than the first policies
LIMITS = ("max_lost_actions",)  # end a job, and change no policy
OPTIONAL = ("base", "base_hash", "reference", "reference_hash", "settings", *RL_FIELDS)


@dataclass(frozen=True)
class Job:
    """A training job. Paths are absolute; hashes are sha256 in hex."""

    job_key: str
    method: str
    dataset: Path | None
    """None for grpo and ppo, whose batches arrive during the job."""
    dataset_sha256: str | None
    output: Path
    """Appears by rename when the job succeeds, not earlier."""
    seed: int
    base: Path | None
    """Policy to start from; None for `init`."""
    base_hash: str | None
    reference: Path | None
    """Frozen policy of the loss; default: the base. None for init, sft and rft."""
    reference_hash: str | None
    settings: Settings
    steps: int = 0
    """Updates of a grpo or ppo job, one per batch."""
    trainer_state: Path | None = None
    """Initial optimizer moments and value head: the output of an earlier grpo or ppo job."""
    trainer_state_sha256: str | None = None

    @property
    def max_length(self) -> int:
        """Max tokens per row of a job with a base: the setting, or the positions of the base."""
        assert isinstance(self.settings, TrainSettings | RlSettings)
        assert self.base is not None
        return self.settings.max_length or positions_of(self.base)

    def manifest_fields(self) -> dict[str, object]:
        """Returns the inputs that determine the resulting policy; its manifest contains them.

        OPTIONAL_SETTINGS are among them only if they are set: policies of other jobs keep their hashes.
        """
        given = asdict(self.settings).items()
        settings = {
            key: value
            for key, value in given
            if key not in LIMITS and (value is not None or key not in OPTIONAL_SETTINGS)
        }
        return {
            "method": self.method,
            "base_hash": self.base_hash,
            "reference_hash": self.reference_hash,
            "dataset_sha256": self.dataset_sha256,
            "seed": self.seed,
            "settings": settings,
        }

    def checkpoint_key(self) -> str:
        """Returns the key that the job's checkpoints carry: equal inputs, equal key.

        The dataset of an RL job is not yet available when it starts, so its number of steps counts instead.
        """
        rl_fields = {name: getattr(self, name) for name in ("steps", "trainer_state_sha256")}
        fields = self.manifest_fields() | (rl_fields if self.steps else {})
        return hashlib.sha256(canonical_json(fields)).hexdigest()


def read_job(job_dir: Path) -> Job:
    """Parses `job.json`; raises `bad-input` with field, value found and value expected."""
    path = job_dir / "job.json"
    try:
        given = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise bad_input("job.json", f"no file {path}", "a job description") from None
    except ValueError as error:
        raise bad_input("job.json", f"invalid JSON ({error})", "a JSON object") from None
    if not isinstance(given, dict):
        raise bad_input("job.json", type(given).__name__, "a JSON object")
    for name in given:
        if name not in REQUIRED + OPTIONAL:
            raise bad_input(name, "an unknown field", f"one of {', '.join(REQUIRED + OPTIONAL)}")
    for name in REQUIRED:
        if name not in given:
            raise bad_input(name, "nothing", "a value")
    return _parse_job(given)


def verify_inputs(job: Job) -> None:
    """Raises `bad-input` when a policy or a file does not match the hash in the job."""
    if job.dataset is not None and job.dataset_sha256 is not None:
        verify_file(job.dataset, job.dataset_sha256, field="dataset")
    if job.trainer_state is not None and job.trainer_state_sha256 is not None:
        verify_file(job.trainer_state, job.trainer_state_sha256, field="trainer_state")
    if job.base is not None:
        _verify_with_base_model(job.base, job.base_hash, field="base")
    if job.reference is not None and job.reference != job.base:
        _verify_with_base_model(job.reference, job.reference_hash, field="reference")


def _verify_with_base_model(policy: Path, policy_hash: str | None, *, field: str) -> None:
    verify_policy(policy, policy_hash, field=field)
    model = base_model_of(policy)
    if model != policy:
        verify_policy(model, model.name, field=f"base model of the adapter in {field}")


def _parse_job(given: dict[str, Any]) -> Job:
    method = given["method"]
    if method not in SETTINGS:
        raise bad_input("method", repr(method), f"one of {', '.join(SETTINGS)}")
    seed = given["seed"]
    if type(seed) is not int or not 0 <= seed < 2**63:
        raise bad_input("seed", repr(seed), "an integer from 0 to 2^63 - 1")
    base, base_hash = _policy(given, "base")
    reference, reference_hash = _policy(given, "reference")
    if (base is None) != (method == "init"):
        expected = (
            "nothing: init starts from random weights" if method == "init" else "the policy to start from"
        )
        raise bad_input("base", base or "nothing", expected)
    is_rl = issubclass(SETTINGS[method], RlSettings)
    has_reference = is_rl or issubclass(SETTINGS[method], DpoSettings)
    if reference is not None and not has_reference:
        raise bad_input("reference", reference, f"nothing: {method} has no reference")
    if reference is None and has_reference:
        reference, reference_hash = base, base_hash
    dataset, dataset_sha256 = _file(given, "dataset", required=not is_rl)
    trainer_state, trainer_state_sha256 = _file(given, "trainer_state", required=None if is_rl else False)
    return Job(
        job_key=_string(given, "job_key"),
        method=method,
        dataset=dataset,
        dataset_sha256=dataset_sha256,
        output=_path(given, "output"),
        seed=seed,
        base=base,
        base_hash=base_hash,
        reference=reference,
        reference_hash=reference_hash,
        settings=parse_settings(method, given.get("settings", {})),
        steps=_steps(given, is_rl),
        trainer_state=trainer_state,
        trainer_state_sha256=trainer_state_sha256,
    )


def _policy(given: dict[str, Any], name: str) -> tuple[Path | None, str | None]:
    if given.get(name) is None:
        if given.get(f"{name}_hash") is not None:
            raise bad_input(name, "nothing", f"a policy directory, because {name}_hash is given")
        return None, None
    return _path(given, name), _string(given, f"{name}_hash")


def _file(given: dict[str, Any], name: str, *, required: bool | None) -> tuple[Path | None, str | None]:
    """Returns a path and its hash. `required`: True for mandatory, None for optional, False for forbidden."""
    hash_name = f"{name}_sha256"
    if required is False:
        for field in (name, hash_name):
            if given.get(field) is not None:
                raise bad_input(field, repr(given[field]), f"nothing: {given['method']} has no {name}")
        return None, None
    if required is None and given.get(name) is None and given.get(hash_name) is None:
        return None, None
    return _path(given, name), _string(given, hash_name)


def _steps(given: dict[str, Any], is_rl: bool) -> int:
    steps = given.get("steps")
    if not is_rl:
        if steps is not None:
            raise bad_input("steps", repr(steps), f"nothing: {given['method']} counts in epochs or updates")
        return 0
    if type(steps) is not int or steps < 1:
        raise bad_input("steps", repr(steps), "an integer of at least 1")
    return steps


def _string(given: dict[str, Any], name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str) or not value:
        raise bad_input(name, repr(value), "a non-empty string")
    return value


def _path(given: dict[str, Any], name: str) -> Path:
    path = Path(_string(given, name))
    if not path.is_absolute():
        raise bad_input(name, repr(str(path)), "an absolute path")
    return path
