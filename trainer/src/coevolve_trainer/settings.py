"""Settings of a job: one frozen dataclass per method; each field has its default, range and reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

#: Updates over which the loss of `stop_at_loss` is averaged; a batch of 8 is too noisy alone.
STOP_WINDOW = 20


def setting(
    default: Any, low: float | None = None, high: float | None = None, choices: tuple[str, ...] = ()
) -> Any:
    """Returns a dataclass field with its permitted range, both ends included."""
    return field(default=default, metadata={"low": low, "high": high, "choices": choices})


@dataclass(frozen=True)
class InitSettings:
    """A randomly initialized Qwen3 decoder of transformers and a tokenizer trained on the dataset."""

    vocabulary_size: int = setting(768, 300, 200_000)
    """Max entries of the byte-level BPE: 256 bytes, 3 special tokens, the rest merges."""
    hidden_size: int = setting(96, 8, 8192)
    layers: int = setting(3, 1, 128)
    heads: int = setting(4, 1, 128)
    kv_heads: int = setting(2, 1, 128)
    """Must divide `heads`."""
    head_dim: int = setting(32, 8, 256)
    """With 32 or 64 vLLM's CPU kernels can serve the policy."""
    feed_forward_size: int = setting(256, 8, 65_536)
    max_positions: int = setting(512, 64, 131_072)
    """Max length of a training row, or of prompt plus completion, in tokens."""
    initializer_range: float = setting(0.1, 1e-4, 1.0)
    """Important at this size: with transformers' 0.02 the loss does not fall within 1,800 updates."""
    reserve_disk_bytes: int = setting(64 * 2**20, 0, 2**62)
    """Free disk space that must remain after the job's own files."""


@dataclass(frozen=True)
class ComputeSettings:
    """The trained weights and how they are computed: common to all training methods."""

    weight_decay: float = setting(0.01, 0.0, 10.0)
    """Weight decay of AdamW; 0.01 is torch's default."""
    max_grad_norm: float = setting(1.0, 1e-9, 1e9)
    """Norm to which gradients are clipped."""
    max_length: int | None = setting(None, 8, 131_072)
    """Max tokens per row; None: the positions of the base. Longer rows are truncated and counted."""
    max_lost_actions: float | None = setting(None, 0.0, 1.0)
    """Max share of the actions of a dataset or a batch that `max_length` may exclude; None: any."""
    thinking: str = setting("train", choices=("train", "mask"))
    """`mask`: the tokens up to `</think>` of an action stay in its row and have no loss."""
    adapter: str = setting("none", choices=("none", "lora"))
    """Train all weights, or a low-rank adapter over frozen weights. A base that is an adapter remains one."""
    lora_rank: int = setting(16, 1, 1024)
    """Used with `adapter: lora`, as the next three. A base that is an adapter must have equal ones."""
    lora_alpha: float = setting(32.0, 1e-3, 1e6)
    """The adapter's product is scaled by alpha / rank."""
    lora_dropout: float = setting(0.0, 0.0, 0.9)
    lora_targets: str = setting("all-linear", choices=("all-linear", "attention"))
    """Every linear layer except the output head, or the four projections of attention."""
    precision: str = setting("auto", choices=("auto", "float32", "bfloat16"))
    """Type of matrix products and activations; `auto`: bfloat16 on CUDA, float32 on a CPU. Trained weights
    are float32 in every case."""
    kernels: str = setting("auto", choices=("auto", "cpu", "transformers"))
    """Passes through the model: this package's for CPUs, or transformers' modules. `auto`: cpu
    on a CPU for the families of block_attention.py, transformers otherwise."""
    compile: str = setting("off", choices=("off", "on"))
    """Compiles every decoder layer with torch.compile; needs `kernels: transformers`."""
    micro_batch_tokens: int = setting(8192, 8, 10**9)
    """Max tokens of a micro-batch, padding included. Changes an update only by rounding."""
    gradient_checkpointing: str = setting("auto", choices=("auto", "on", "off"))
    """Recompute activations in the backward pass; `auto`: if they would not fit into free memory."""
    device: str = setting("auto", choices=("auto", "cpu", "cuda"))
    """`auto`: CUDA if available."""
    threads: int = setting(1, 1, 256)
    """Threads of torch on a CPU. Several change the order of sums, and therefore the last bits."""
    engine: str = setting("auto", choices=("auto", "builtin", "trl"))
    """This package's loop, or TRL's trainers on accelerate (sft, rft, dpo, target). `auto`: trl on CUDA, if
    it is installed and has the method."""
    sharding: str = setting("none", choices=("none", "ddp", "fsdp", "deepspeed"))
    """Every process holds the whole model (ddp), or one shard of it (fsdp; deepspeed: ZeRO stage 3)."""
    processes: int = setting(1, 1, 4096)
    """Number of processes of the launch; any other number is rejected."""
    stall_timeout_s: float = setting(1800.0, 0.1, 1e9)
    """The process exits with `stalled` after this time without a completed pass, update or checkpoint."""
    reserve_disk_bytes: int = setting(64 * 2**20, 0, 2**62)
    """Free disk space that must remain after the job's own files."""


@dataclass(frozen=True)
class TrainSettings(ComputeSettings):
    """Settings common to all methods with a dataset."""

    epochs: int | None = setting(14, 1, 1000)
    """Passes over the data, each in another order. None with `updates`."""
    updates: int | None = setting(None, 1, 1_000_000)
    """Number of updates for any number of rows: as many passes as they need, the last one incomplete."""
    batch_size: int = setting(8, 1, 4096)
    """Trajectories (sft) or pairs (dpo, target) per update."""
    learning_rate: float = setting(3e-3, 1e-12, 1e6)
    """Peak of the schedule."""
    schedule: str = setting("cosine", choices=("cosine", "constant"))
    """After the warm-up: cosine decays to 0 at the last update."""
    warmup_fraction: float = setting(0.05, 0.0, 1.0)
    """Fraction of the updates over which the learning rate rises linearly."""
    checkpoint_every: int = setting(50, 1, 10**9)
    """Updates between checkpoints."""
    log_every: int = setting(10, 1, 10**9)
    """Updates between progress lines; the last update always has one."""

    def is_enough(self, losses: Sequence[float]) -> bool:
        """Returns whether a job ends early, after updates with these losses in nats."""
        return False

    def total_updates(self, per_epoch: int) -> int:
        """Returns the updates of a job whose pass over the data has `per_epoch` updates."""
        if self.updates is not None:
            return self.updates
        assert self.epochs is not None
        return self.epochs * per_epoch


@dataclass(frozen=True)
class SftSettings(TrainSettings):
    """Eq. 5: negative log-likelihood of the action tokens, averaged over the tokens of a batch."""

    stop_at_loss: float | None = setting(None, 0.0, 1e3)
    """Nats. The job ends once its last STOP_WINDOW updates have at most this mean loss; None: never. Seeds
    differ in the update at which they learn a task, so a loss makes policies more alike than `updates`."""

    def is_enough(self, losses: Sequence[float]) -> bool:
        limit, recent = self.stop_at_loss, losses[-STOP_WINDOW:]
        return limit is not None and len(recent) == STOP_WINDOW and sum(recent) / STOP_WINDOW <= limit


@dataclass(frozen=True)
class RftSettings(SftSettings):
    """Rejection sampling, then Eq. 5: only successful attempts of the policy are trained on."""

    success_reward: float = setting(1.0, 0.0, 1.0)
    """Min `reward` of a row that is kept. A row without a reward is an expert trajectory, and kept."""


@dataclass(frozen=True)
class DpoSettings(TrainSettings):
    """Eq. 7 over trajectory pairs. Three epochs as in the paper; the rate is for 0.1-0.6 M parameters."""

    epochs: int | None = setting(3, 1, 1000)
    learning_rate: float = setting(1e-4, 1e-12, 1e6)
    beta: float = setting(0.1, 1e-6, 1e3)
    """Strength of the penalty for leaving the reference; 0.1 as in ETO."""
    pair_truncation: str = setting("none", choices=("none", "eto"))
    """`eto` truncates the rejected side to the chosen side's messages plus ten, as ETO does."""


@dataclass(frozen=True)
class TargetSettings(DpoSettings):
    """Eq. 9: lambda_dpo * DPO + lambda_sft * NLL(chosen), both lambdas per pair."""

    sft_reduction: str = setting("mean", choices=("mean", "sum"))
    """Eq. 9 has the sum over action tokens. At 50 tokens per trajectory that sum is about 100 times the DPO
    term (at most ln 2 near the reference) and dominates it, so the default is the mean per token."""


@dataclass(frozen=True)
class RlSettings(ComputeSettings):
    """Settings common to grpo and ppo: one policy per batch of rollouts. "Table 9" is in CoEvolve."""

    epochs: int = setting(1, 1, 100)
    """Passes over each batch of rollouts. With one update every ratio is 1, and nothing is clipped."""
    mini_batches: int = setting(1, 1, 1024)
    """Updates per pass, each over a share of the batch's groups, at most one per group. Table 9 is silent."""
    learning_rate: float = setting(1e-6, 1e-12, 1e6)
    """Constant; table 9, where models have 4 to 30 B parameters."""
    clip_low: float = setting(0.20, 0.0, 1.0)
    """Lower bound of the ratio to the sampling policy: 1 - clip_low; table 9."""
    clip_high: float = setting(0.28, 0.0, 1e3)
    """Upper bound: 1 + clip_high; wider, so that rare tokens can become likely; table 9."""
    importance_truncation: float = setting(0.0, 0.0, 1e6)
    """Max weight pi_old / pi_server of a token, for a server that computes other log-probabilities than the
    trainer: vLLM in bfloat16. 0: no weights; on CPUs both agree to 1e-5. ms-swift's default is 2."""
    kl_coefficient: float = setting(1e-3, 0.0, 1e3)
    """Weight of the KL divergence from the frozen reference; table 9."""
    aggregation: str = setting("group", choices=("group", "attempt", "batch"))
    """Mean over a group's tokens, then over groups (Eq. 1); over an attempt's tokens, then over attempts
    (DeepSeekMath); or over all tokens (AgentEvolver)."""
    idle_timeout_s: float = setting(600.0, 0.01, 1e9)
    """Timeout for the next batch, after which the job exits; it resumes when it is started again."""


@dataclass(frozen=True)
class GrpoSettings(RlSettings):
    """Eq. 1 with the advantage that each rollout contains."""


@dataclass(frozen=True)
class PpoSettings(RlSettings):
    """The clipped surrogate of Eq. 1 with advantages from a value head; its settings are not published."""

    aggregation: str = setting("batch", choices=("group", "attempt", "batch"))
    """The mean over all tokens, as usual for PPO, which has no groups."""
    gamma: float = setting(1.0, 0.0, 1.0)
    """Discount per action token; 1, because there is one reward, at the end."""
    gae_lambda: float = setting(0.95, 0.0, 1.0)
    advantages: str = setting("normalized", choices=("normalized", "plain"))
    """Normalized over the action tokens of a batch, or unchanged."""
    value_coefficient: float = setting(0.5, 0.0, 1e3)
    """Weight of the value loss, whose gradient also flows into the decoder."""
    value_learning_rate: float = setting(1e-3, 1e-12, 1e6)
    """Learning rate of the value head, which starts at 0 and would stay near 0 with the policy's 1e-6."""


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
