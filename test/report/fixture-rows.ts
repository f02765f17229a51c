import { createHash } from 'node:crypto';
import {
  defaultBootstrapSettings,
  exactMcNemar,
  mean,
  pairedBootstrap,
  wilsonInterval,
} from '../../src/domain/evaluation/statistics';

export type Row = Record<string, unknown>;

export type FixtureSettings = {
  iterations: number; // after the supervised start
  trainTasks: number;
  heldOutTasks: number;
  attempts: number; // per task, agent and iteration
  agents: ('target' | 'failure')[];
};

export const policyId = (role: string, iteration: number): string =>
  createHash('sha256').update(`${role} ${iteration}`).digest('hex');

const startedAt = Date.parse('2026-03-02T09:00:00Z');

/** Returns the ISO time `seconds` after the start of an iteration. */
export const at = (iteration: number, seconds: number): string =>
  new Date(startedAt + iteration * 300_000 + seconds * 1000).toISOString();

/** Computes an evaluation row from rewards by task. */
export function evaluationRow(
  iteration: number,
  policy: string,
  candidate: ReadonlyMap<string, number>,
  incumbent: { id: string; rewards: ReadonlyMap<string, number> } | null,
): Row {
  const rewards = [...candidate.values()];
  const successes = rewards.filter((reward) => reward === 1).length;
  const { low, high } = wilsonInterval(successes, rewards.length);
  const row = {
    iteration,
    policy_id: policy,
    incumbent_id: incumbent?.id ?? null,
    tasks: rewards.length,
    successes,
    success_low: low,
    success_high: high,
    mean_reward: mean(rewards),
    recorded_at: at(iteration, 280),
  };
  if (!incumbent) return row;
  const both = [...candidate].filter(([task]) => incumbent.rewards.has(task));
  const wins = both.filter(([task, reward]) => reward === 1 && incumbent.rewards.get(task)! < 1).length;
  const losses = both.filter(([task, reward]) => reward < 1 && incumbent.rewards.get(task) === 1).length;
  const differences = both.map(([task, reward]) => reward - incumbent.rewards.get(task)!);
  const bootstrap = pairedBootstrap(differences, { seed: iteration, ...defaultBootstrapSettings });
  return {
    ...row,
    wins,
    losses,
    mcnemar_p: exactMcNemar(wins, losses),
    mean_difference: bootstrap.mean,
    difference_low: bootstrap.low,
    difference_high: bootstrap.high,
  };
}
