"""Settings of a job: one frozen dataclass per method, every field with its default, range and reason."""

from __future__ import annotations

from dataclasses import Field, asdict, dataclass, field, fields
from typing import Any

from .failures import bad_input


def setting(
    default: Any, low: float | None = None, high: float | None = None, choices: tuple[str, ...] = ()
) -> Any:
    """A dataclass field with its permitted range, both ends included."""
    return field(default=default, metadata={"low": low, "high": high, "choices": choices})


@dataclass(frozen=True)
class InitSettings:
    """A random decoder of transformers' Qwen3 configuration and a tokenizer trained on the dataset."""

    vocabulary_size: int = setting(1536, 300, 200_000)
    """Entries of the byte-level BPE, at most: 256 bytes, 3 special tokens, the rest merges."""
    hidden_size: int = setting(96, 8, 8192)
    layers: int = setting(3, 1, 128)
    heads: int = setting(4, 1, 128)
    kv_heads: int = setting(2, 1, 128)
    """Must divide `heads`."""
    head_dim: int = setting(32, 8, 256)
    """32 or 64 keep the policy servable by vLLM's CPU kernels."""
    feed_forward_size: int = setting(256, 8, 65_536)
    max_positions: int = setting(1024, 64, 131_072)
    """Longest row in tokens that the policy can be trained on or serve."""
    initializer_range: float = setting(0.1, 1e-4, 1.0)
    """Decisive at this size: with transformers' 0.02 the model does not learn the task in 1,800 updates."""
    reserve_disk_bytes: int = setting(64 * 2**20, 0, 2**62)
    """Disk that must be free beside what the job writes."""


@dataclass(frozen=True)
class ComputeSettings:
    """What is trained and how it is computed: the same for every training method."""

    adapter: str = setting("none", choices=("none", "lora"))
    """Train all weights, or a low-rank adapter beside frozen ones. A base that is an adapter stays one."""
    lora_rank: int = setting(16, 1, 1024)
    """With `adapter: lora`, as the other three; a base that is an adapter has its own, which must agree."""
    lora_alpha: float = setting(32.0, 1e-3, 1e6)
    """The adapter's product counts alpha / rank."""
    lora_dropout: float = setting(0.0, 0.0, 0.9)
    lora_targets: str = setting("all-linear", choices=("all-linear", "attention"))
    """Every linear layer but the output head, or the four projections of attention."""
    precision: str = setting("float32", choices=("float32", "bfloat16"))
    """Of matrix products and activations. What is trained is kept in float32 either way."""
    micro_batch_tokens: int = setting(8192, 8, 10**9)
    """Tokens, with padding, in memory at once. Changes an update by rounding alone."""
    gradient_checkpointing: str = setting("auto", choices=("auto", "on", "off"))
    """Activations are computed twice instead of kept; `auto`: when they would not fit into free memory."""
    device: str = setting("auto", choices=("auto", "cpu", "cuda"))
    """`auto`: CUDA where there is one."""
    threads: int = setting(1, 1, 256)
    """Of torch on a CPU. More than one changes the order of sums, and so the last bits."""
    sharding: str = setting("none", choices=("none", "ddp", "fsdp"))
    """Over several processes: every one holds the whole model (ddp), or a share of it (fsdp)."""
    processes: int = setting(1, 1, 4096)
    """How many processes the job is launched with; any other number is refused."""
    stall_timeout_s: float = setting(1800.0, 0.1, 1e9)
    """Without an update or a computed batch for so long the process leaves with `stalled`."""
    reserve_disk_bytes: int = setting(64 * 2**20, 0, 2**62)
    """Disk that must be free beside what the job writes."""


@dataclass(frozen=True)
class TrainSettings(ComputeSettings):
    """What the methods that learn from a dataset share."""

    epochs: int = setting(14, 1, 1000)
    batch_size: int = setting(8, 1, 4096)
    """Trajectories (sft) or pairs (dpo, target) per update."""
    learning_rate: float = setting(3e-3, 1e-12, 1e6)
    """Peak of the schedule."""
    schedule: str = setting("cosine", choices=("cosine", "constant"))
    """After the warm-up: cosine falls to 0 at the last update, constant stays."""
    warmup_fraction: float = setting(0.05, 0.0, 1.0)
    """Share of the updates over which the learning rate rises linearly."""
    weight_decay: float = setting(0.01, 0.0, 10.0)
    max_grad_norm: float = setting(1.0, 1e-9, 1e9)
    max_length: int = setting(512, 8, 131_072)
    """Tokens per row; longer rows are cut at the end and counted as truncated."""
    checkpoint_every: int = setting(100, 1, 10**9)
    """Updates between checkpoints."""
    log_every: int = setting(10, 1, 10**9)
    """Updates between progress lines; the last update always writes one."""


@dataclass(frozen=True)
class SftSettings(TrainSettings):
    """Eq. 5: negative log-likelihood of the action tokens, averaged over the tokens of a batch."""


@dataclass(frozen=True)
class RftSettings(SftSettings):
    """Rejection sampling, then Eq. 5: of the policy's own attempts only the successes are learnt from."""

    success_reward: float = setting(1.0, 0.0, 1.0)
    """Least `reward` of a row that is kept. A row without a reward is an expert's, and kept."""


@dataclass(frozen=True)
class DpoSettings(TrainSettings):
    """Eq. 7 over trajectory pairs. Three epochs as in the paper; the rate suits 0.1-0.6 M parameters."""

    epochs: int = setting(3, 1, 1000)
    learning_rate: float = setting(1e-4, 1e-12, 1e6)
    beta: float = setting(0.1, 1e-6, 1e3)
    """Strength of the pull to the reference; 0.1 as ETO."""
    pair_truncation: str = setting("none", choices=("none", "eto"))
    """`eto` cuts the rejected side to the chosen one's messages and ten more, five actions, as ETO does."""


@dataclass(frozen=True)
class TargetSettings(DpoSettings):
    """Eq. 9: lambda_dpo * DPO + lambda_sft * NLL(chosen), both lambdas per pair."""

    sft_reduction: str = setting("mean", choices=("mean", "sum"))
    """Eq. 9 prints the sum over action tokens. At 50 tokens a trajectory that sum is some 100 times the DPO
    term (at most ln 2 near the reference) and drowns it, so the default is the mean per token."""


@dataclass(frozen=True)
class RlSettings(ComputeSettings):
    """What grpo and ppo share: one update per batch of rollouts. Where it says so, table 9 of CoEvolve."""

    learning_rate: float = setting(1e-6, 1e-12, 1e6)
    """Constant; table 9, there for 4 to 30 B parameters."""
    weight_decay: float = setting(0.01, 0.0, 10.0)
    """Of AdamW; the paper gives none, 0.01 is torch's own and that of the other methods."""
    max_grad_norm: float = setting(1.0, 1e-9, 1e9)
    """The paper gives none."""
    clip_low: float = setting(0.20, 0.0, 1.0)
    """The ratio to the policy that sampled counts from 1 - clip_low; table 9."""
    clip_high: float = setting(0.28, 0.0, 1e3)
    """... to 1 + clip_high: rare tokens may rise further than they may fall; table 9."""
    kl_coefficient: float = setting(1e-3, 0.0, 1e3)
    """Weight of the divergence from the fixed reference; table 9."""
    aggregation: str = setting("group", choices=("group", "batch"))
    """Mean over a group's tokens, then over groups (Eq. 1), or over all tokens at once (AgentEvolver)."""
    max_length: int = setting(512, 8, 131_072)
    """Tokens per row; longer rows are cut at the end and counted as truncated."""
    idle_timeout_s: float = setting(600.0, 0.01, 1e9)
    """How long to wait for a batch before leaving; the job resumes when it is started again."""


@dataclass(frozen=True)
class GrpoSettings(RlSettings):
    """Eq. 1 with the advantage that each rollout brings along."""


@dataclass(frozen=True)
class PpoSettings(RlSettings):
    """The clipped surrogate of Eq. 1 with advantages from a learned value; no setting of it is published."""

    aggregation: str = setting("batch", choices=("group", "batch"))
    """The mean over all tokens, as is usual for PPO, which knows no groups."""
    gamma: float = setting(1.0, 0.0, 1.0)
    """Discount per action token; 1, because the reward comes once, at the end."""
    gae_lambda: float = setting(0.95, 0.0, 1.0)
    advantages: str = setting("normalised", choices=("normalised", "plain"))
    """Normalised over the action tokens of a batch, or as they are."""
    value_coefficient: float = setting(0.5, 0.0, 1e3)
    """Weight of the value loss, whose gradient also reaches the layers below the head."""
    value_learning_rate: float = setting(1e-3, 1e-12, 1e6)
    """The head's own rate: it starts at 0, and at the policy's 1e-6 would stay there for the campaign."""


Settings = (
    InitSettings | SftSettings | RftSettings | DpoSettings | TargetSettings | GrpoSettings | PpoSettings
)
SETTINGS: dict[str, type[Settings]] = {
    "init": InitSettings,
    "sft": SftSettings,
    "rft": RftSettings,
    "dpo": DpoSettings,
    "target": TargetSettings,
    "grpo": GrpoSettings,
    "ppo": PpoSettings,
}


def parse_settings(method: str, given: object) -> Settings:
    """Defaults overlaid with `given`; raises `bad-input` for an unknown key, a wrong type or range."""
    if not isinstance(given, dict):
        raise bad_input("settings", type(given).__name__, "an object")
    kind = SETTINGS[method]
    known = {f.name: f for f in fields(kind)}
    for name in given:
        if name not in known:
            raise bad_input(f"settings.{name}", "an unknown setting", f"one of {', '.join(sorted(known))}")
    checked: dict[str, Any] = {name: _checked(known[name], value) for name, value in given.items()}
    parsed = kind(**checked)
    if isinstance(parsed, InitSettings) and parsed.heads % parsed.kv_heads != 0:
        raise bad_input("settings.kv_heads", parsed.kv_heads, f"a divisor of heads ({parsed.heads})")
    return parsed


def defaults() -> dict[str, dict[str, object]]:
    """Every method's settings with their defaults, as a job would record them."""
    return {method: asdict(kind()) for method, kind in SETTINGS.items()}


def _checked(known: Field[Any], value: object) -> object:
    name, low, high = f"settings.{known.name}", known.metadata["low"], known.metadata["high"]
    choices = known.metadata["choices"]
    if choices:
        if value not in choices:
            raise bad_input(name, repr(value), f"one of {', '.join(choices)}")
        return value
    wants_integer = isinstance(known.default, int)
    if isinstance(value, bool) or not isinstance(value, int if wants_integer else (int, float)):
        raise bad_input(name, repr(value), "an integer" if wants_integer else "a number")
    assert isinstance(value, (int, float))
    if not low <= value <= high:
        raise bad_input(name, value, f"{low:g} to {high:g}")
    return value if wants_integer else float(value)
