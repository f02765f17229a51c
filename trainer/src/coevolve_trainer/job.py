"""Reads job.json strictly and checks every input against its hash before anything is spent."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .failures import bad_input
from .files.atomic_files import canonical_json, verify_file
from .files.policy_files import model_beneath, verify_policy
from .settings import SETTINGS, DpoSettings, RlSettings, Settings, parse_settings

REQUIRED = ("job_key", "method", "dataset", "dataset_sha256", "output", "seed")
RESIDENT = ("steps", "trainer_state", "trainer_state_sha256")
OPTIONAL = ("base", "base_hash", "reference", "reference_hash", "settings", *RESIDENT)


@dataclass(frozen=True)
class Job:
    """One training run. Paths are absolute; hashes are sha256 in hex."""

    job_key: str
    method: str
    dataset: Path | None
    """None for grpo and ppo: their batches arrive one by one."""
    dataset_sha256: str | None
    output: Path
    """Appears by rename when the job succeeds, and not before."""
    seed: int
    base: Path | None
    """Policy to start from; none for `init`."""
    base_hash: str | None
    reference: Path | None
    """Frozen policy of the loss; the base when not given. Not for init and sft."""
    reference_hash: str | None
    settings: Settings
    steps: int = 0
    """Updates of a grpo or ppo job, one per batch."""
    trainer_state: Path | None = None
    """Optimizer moments and value head to begin with, as an earlier grpo or ppo job left them."""
    trainer_state_sha256: str | None = None

    def facts(self) -> dict[str, object]:
        """What decides the resulting policy; goes into its manifest."""
        return {
            "method": self.method,
            "base_hash": self.base_hash,
            "reference_hash": self.reference_hash,
            "dataset_sha256": self.dataset_sha256,
            "seed": self.seed,
            "settings": asdict(self.settings),
        }

    def identity(self) -> str:
        """Whose checkpoints these are. A resident job's dataset is not known yet; its steps are."""
        resident = {name: getattr(self, name) for name in ("steps", "trainer_state_sha256")}
        facts = self.facts() | (resident if self.steps else {})
        return hashlib.sha256(canonical_json(facts)).hexdigest()


def read_job(job_dir: Path) -> Job:
    """Parses `job.json`; raises `bad-input` naming the field, what was found and what was expected."""
    path = job_dir / "job.json"
    try:
        given = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise bad_input("job.json", f"no file {path}", "the job's description") from None
    except ValueError as error:
        raise bad_input("job.json", f"no JSON ({error})", "a JSON object") from None
    if not isinstance(given, dict):
        raise bad_input("job.json", type(given).__name__, "a JSON object")
    for name in given:
        if name not in REQUIRED + OPTIONAL:
            raise bad_input(name, "an unknown field", f"one of {', '.join(REQUIRED + OPTIONAL)}")
    for name in REQUIRED:
        if name not in given:
            raise bad_input(name, "nothing", "a value")
    return _job(given)


def verify_inputs(job: Job) -> None:
    """Raises `bad-input` when a policy or a file is not what the job's hashes say."""
    if job.dataset is not None and job.dataset_sha256 is not None:
        verify_file(job.dataset, job.dataset_sha256, field="dataset")
    if job.trainer_state is not None and job.trainer_state_sha256 is not None:
        verify_file(job.trainer_state, job.trainer_state_sha256, field="trainer_state")
    if job.base is not None:
        _verify_whole(job.base, job.base_hash, field="base")
    if job.reference is not None and job.reference != job.base:
        _verify_whole(job.reference, job.reference_hash, field="reference")


def _verify_whole(policy: Path, policy_hash: str | None, *, field: str) -> None:
    """Checks a policy and, where it is an adapter, the model beneath it."""
    verify_policy(policy, policy_hash, field=field)
    beneath = model_beneath(policy)
    if beneath != policy:
        verify_policy(beneath, beneath.name, field=f"the model beneath {field}")


def _job(given: dict[str, Any]) -> Job:
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
    resident = issubclass(SETTINGS[method], RlSettings)
    has_reference = resident or issubclass(SETTINGS[method], DpoSettings)
    if reference is not None and not has_reference:
        raise bad_input("reference", reference, f"nothing: {method} has no reference")
    if reference is None and has_reference:
        reference, reference_hash = base, base_hash
    dataset, dataset_sha256 = _file(given, "dataset", wanted=not resident)
    trainer_state, trainer_state_sha256 = _file(given, "trainer_state", wanted=None if resident else False)
    return Job(
        job_key=_text(given, "job_key"),
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
        steps=_steps(given, resident),
        trainer_state=trainer_state,
        trainer_state_sha256=trainer_state_sha256,
    )


def _policy(given: dict[str, Any], name: str) -> tuple[Path | None, str | None]:
    if given.get(name) is None:
        if given.get(f"{name}_hash") is not None:
            raise bad_input(name, "nothing", f"a policy directory, because {name}_hash is given")
        return None, None
    return _path(given, name), _text(given, f"{name}_hash")


def _file(given: dict[str, Any], name: str, *, wanted: bool | None) -> tuple[Path | None, str | None]:
    """A path and its hash; `wanted` says whether they must be there, None that they may."""
    hash_name = f"{name}_sha256"
    if wanted is False:
        for field in (name, hash_name):
            if given.get(field) is not None:
                raise bad_input(field, repr(given[field]), f"nothing: {given['method']} has no {name}")
        return None, None
    if wanted is None and given.get(name) is None and given.get(hash_name) is None:
        return None, None
    return _path(given, name), _text(given, hash_name)


def _steps(given: dict[str, Any], resident: bool) -> int:
    steps = given.get("steps")
    if not resident:
        if steps is not None:
            raise bad_input("steps", repr(steps), f"nothing: {given['method']} counts in epochs")
        return 0
    if type(steps) is not int or steps < 1:
        raise bad_input("steps", repr(steps), "an integer from 1")
    return steps


def _text(given: dict[str, Any], name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str) or not value:
        raise bad_input(name, repr(value), "a text")
    return value


def _path(given: dict[str, Any], name: str) -> Path:
    path = Path(_text(given, name))
    if not path.is_absolute():
        raise bad_input(name, repr(str(path)), "an absolute path")
    return path
