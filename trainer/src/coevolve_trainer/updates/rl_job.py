"""Reinforcement learning (grpo, ppo) in one file: the loop over batches, the objective and its clip.

The objective is Eq. 1 of "CoEvolve" (arXiv:2604.15840v1), which departs from GRPO as published (DeepSeekMath,
arXiv:2402.03300, Eq. 3) and from PPO (arXiv:1707.06347). "Setting" names the one that changes a default.

1. The mean is taken over all action tokens of a group, then over groups, not over the tokens of each answer
   first: a token weighs as much in a long trajectory as in a short one. PPO, which has no groups, takes the
   mean over all tokens of the batch. Setting `aggregation`; `attempt` is the published mean.
2. A trajectory has several turns. Only tokens that the policy sampled have a loss; prompts and observations
   are masked. All tokens of a GRPO trajectory have one advantage, which the caller computes within the K
   attempts at a task: (R - mean) / (deviation + 1e-6). A group with equal rewards has advantage 0 and is not
   dropped: its tokens count in the mean, and the KL term still has a gradient. Where all groups of an update
   have equal rewards there is none: weight decay, momentum and the KL term alone would change the policy.
3. The clip has two bounds, 1 - 0.20 and 1 + 0.28 (CoEvolve's table 9): rare tokens can become likely sooner.
4. A batch makes one update by default. The ratio is then 1 except for rounding, and nothing is clipped.
   Settings `epochs`, `mini_batches`; groups stay whole, because the mean is taken within each.
5. log pi_old is the server's record for one update, which saves a pass. For several, and with importance
   weights, it is computed here before the first. Both are of the raw logits, at any sampling temperature.
6. The clipped term, but not the KL term, can have importance weights min(pi_old / pi_server, truncation) for
   a server with other kernels or precision. Setting `importance_truncation`; 0, the default, means none.
7. The KL divergence from the reference is a term of the loss, also for PPO, where InstructGPT
   (arXiv:2203.02155) subtracts it from the reward. The reference stays the policy of the supervised start;
   DeepSeekMath replaces it in each iteration. The estimator is k3 without a ratio, as in DeepSeekMath.
8. PPO: the value head shares the decoder and starts at 0; its loss is the squared error to the return and is
   not clipped. One reward stands at the last action token; GAE skips all tokens that were not sampled. The
   advantages are computed once per batch, before its first update, and normalized over its action tokens.
9. There is no entropy bonus. A row that exceeds `max_length` is truncated and keeps its score.

An update is one step of AdamW at a constant learning rate, with the gradient's norm clipped (update.py). The
gradient is accumulated over micro-batches, whose losses add up to the loss of the mini-batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from ..data.mini_batches import plan_mini_batches
from ..data.packed_batch import PackedBatch
from ..data.packing import Packing
from ..failures import JobFailure
from ..losses.reinforcement import (
    clipped_surrogate,
    importance_weights,
    kl_to_reference,
    policy_loss,
    token_weights,
    value_loss,
)
from ..settings import GrpoSettings, PpoSettings, RlSettings
from .batch_record import batch_metrics
from .objective import MicroBatchLoss, Scorer
from .rl_policies import RlPolicies
from .rollout_preparation import PreparedRollouts, RolloutPreparation, computes_old_logprobs, pack_rollouts
from .trainer import Trainer


def run_rl_job(trainer: Trainer, settings: RlSettings) -> str:
    """Trains on `job.steps` batches, publishing a policy after each; returns the hash of the last policy.

    A killed job resumes after the last committed update, also between two on one batch, and computes the same
    bits.

    Raises:
        JobFailure: `cancelled` after SIGTERM or when no batch arrives; `bad-input`; `diverged`.
    """
    job, cursor = trainer.job, trainer.cursor
    policies = RlPolicies(trainer)
    preparation = RolloutPreparation(trainer, settings)
    objective = RolloutObjective(settings, preparation.packing)
    # An upper bound: a batch with fewer groups than mini-batches has fewer updates
    total_updates = job.steps * settings.epochs * settings.mini_batches
    policies.resume(total_updates)
    for step in range(len(cursor.updates) + 1, job.steps + 1):
        batch = preparation.wait(step)
        rollouts = preparation.read(step, batch)
        seed = f"{job.seed}/{step}"
        plan = plan_mini_batches(rollouts, settings.mini_batches, epochs=settings.epochs, seed=seed)
        trainer.meter.reset()
        prepared, record = preparation.start(rollouts, batch.sha256, len(plan))
        for groups in plan[record.done :]:
            part = prepared if settings.mini_batches == 1 else prepared.select(groups)
            numbers: dict[str, float] = {}
            if trains_nothing(part, settings):
                record.skipped += 1
                trainer.skip_update()
            else:
                totals = trainer.update(objective, part)
                numbers = trainer.meter.read(total_updates - cursor.step)
                record.add(totals, numbers["grad_norm"])
                numbers |= totals.means()
            is_last = record.done == len(plan)
            if is_last:
                policies.commit(step, batch.sha256, record.loss, record.metrics(rollouts, settings))
            else:
                cursor.batch |= {"record": vars(record)}
                trainer.commit()
            trainer.log(total_updates, {**numbers, **batch_metrics(part.batch, settings)})
            if not is_last and trainer.should_stop():
                raise JobFailure("cancelled", f"stopped after update {record.done} on batch {step}")
        policies.publish()
    return policies.finish()


def trains_nothing(part: PreparedRollouts, settings: RlSettings) -> bool:
    """Returns whether no attempt is better or worse than the others at its task."""
    return isinstance(settings, GrpoSettings) and not part.advantage.any()


class TokenInputs(NamedTuple):
    """The inputs of the loss for A action tokens, [A] each."""

    server_logp: Tensor
    old_logp: Tensor
    importance: Tensor
    reference_logp: Tensor
    advantage: Tensor
    target: Tensor  # PPO: the return that the value head should predict
    weight: Tensor  # of the token in the update's mean


class RolloutMicroBatch(NamedTuple):
    """Packed segments of a batch of rollouts, and the inputs of the loss for their action tokens."""

    packed: PackedBatch
    tokens: TokenInputs


class RolloutObjective:
    """Eq. 1 over a prepared batch of rollouts; for PPO with the value loss."""

    def __init__(self, settings: RlSettings, packing: Packing) -> None:
        self.settings, self.packing = settings, packing

    def split(self, batch: PreparedRollouts, max_tokens: int) -> Sequence[RolloutMicroBatch]:
        rollouts, old_logp, truncation = batch.batch, batch.old_logp, self.settings.importance_truncation
        tokens = TokenInputs(
            server_logp=rollouts.old_logp,
            old_logp=old_logp,
            importance=importance_weights(old_logp, rollouts.old_logp, truncation)
            if truncation > 0
            else torch.ones_like(old_logp),
            reference_logp=batch.reference_logp,
            advantage=batch.advantage,
            target=batch.target,
            weight=token_weights(rollouts.trajectory, rollouts.group, self.settings.aggregation),
        )
        return [
            RolloutMicroBatch(part.packed, TokenInputs(*(column[part.token_index] for column in tokens)))
            for part in pack_rollouts(rollouts, max_tokens, self.packing)
        ]

    def loss(self, scorer: Scorer, micro_batch: RolloutMicroBatch) -> MicroBatchLoss:
        """Returns the micro-batch's summand of the loss, with r = pi_theta / pi_old and a token's weight w:

            -sum w * (importance * min[r * A, clip(r, 1 - clip_low, 1 + clip_high) * A] - kl_coefficient * k3)

        PPO adds value_coefficient * sum w * (V - return)^2.
        """
        settings, (logp, values) = self.settings, scorer(micro_batch.packed)
        tokens = TokenInputs(*(column.to(logp.device) for column in micro_batch.tokens))
        clip = {"clip_low": settings.clip_low, "clip_high": settings.clip_high}
        surrogate = clipped_surrogate(logp, tokens.old_logp, tokens.advantage, **clip)
        kl = kl_to_reference(logp, tokens.reference_logp)
        value = tokens.importance * surrogate.value
        loss = policy_loss(value, kl, tokens.weight, kl_coefficient=settings.kl_coefficient)
        before = tokens.old_logp if computes_old_logprobs(settings) else logp
        metrics = {
            "ratio": surrogate.ratio,
            "clipped_low": surrogate.clipped_low,
            "clipped_high": surrogate.clipped_high,
            "kl": kl,
            # About 1e-4 when server and trainer hold the same policy, more for rollouts of another policy
            "logp_gap": (before - tokens.server_logp).abs(),
            # The tokens are drawn from pi_old, for which k3 with the sides exchanged is unbiased
            "kl_old": kl_to_reference(tokens.old_logp, logp),
        }
        if settings.importance_truncation > 0:
            metrics["importance"] = tokens.importance
            metrics["importance_truncated"] = tokens.importance >= settings.importance_truncation
        if values is not None and isinstance(settings, PpoSettings):
            loss = loss + settings.value_coefficient * value_loss(values, tokens.target, tokens.weight)
            metrics["value_loss"] = (values - tokens.target).square()
        totals = torch.stack([column.detach().double().sum() for column in metrics.values()]).tolist()
        sums = {name: (float(total), float(len(logp))) for name, total in zip(metrics, totals, strict=True)}
        return MicroBatchLoss(loss, sums, {"ratio_max": surrogate.ratio.max().item()})
