import { createHash } from 'node:crypto';
import {
  defaultBootstrapSettings,
  exactMcNemar,
  mean,
  pairedBootstrap,
  wilsonInterval,
} from '../../src/domain/statistics';
import { createRandom } from '../../src/domain/seeded-random';
import { playIteration } from './play-iteration';

export type Row = Record<string, unknown>;

/** Rows of every table, in an order that the foreign keys allow: one block per iteration. */
export type CampaignRows = {
  campaign: Row;
  blocks: { iteration: number; tables: Record<string, Row[]> }[];
};

export type FixtureSettings = {
  iterations: number; // after the supervised start
  trainTasks: number;
  heldOutTasks: number;
  attempts: number; // per task, agent and iteration
  agents: ('target' | 'failure')[];
};

export const defaultFixture: FixtureSettings = {
  iterations: 3,
  trainTasks: 120,
  heldOutTasks: 80,
  attempts: 3,
  agents: ['target', 'failure'],
};

export const policyId = (role: string, iteration: number): string =>
  createHash('sha256').update(`${role} ${iteration}`).digest('hex');

const startedAt = Date.parse('2026-03-02T09:00:00Z');

/** When the clock of iteration `iteration` shows `seconds`. */
export const at = (iteration: number, seconds: number): string =>
  new Date(startedAt + iteration * 300_000 + seconds * 1000).toISOString();

/** The rows of a campaign that never ran, drawn from a seed: graded rewards, faults, ties, kept and promoted candidates. */
export function campaignRows(overrides: Partial<FixtureSettings> = {}): CampaignRows {
  const settings = { ...defaultFixture, ...overrides };
  const random = createRandom(11);
  const world = { settings, random, heads: new Map<string, string>(), pool: [] as Row[], heldOut: [] as Row[] };
  const blocks = Array.from({ length: settings.iterations + 1 }, (_, iteration) => ({
    iteration,
    tables: playIteration(world, iteration),
  }));
  const finishedAt = at(settings.iterations, 290);
  return { campaign: campaignRow(settings, finishedAt), blocks };
}

export const rowsOf = ({ blocks }: CampaignRows, table: string): Row[] =>
  blocks.flatMap(({ tables }) => tables[table] ?? []);

function campaignRow(settings: FixtureSettings, finishedAt: string): Row {
  return {
    name: 'harbour-light',
    recipe: 'combined',
    environment: 'intercode-sql',
    spec: {
      name: 'harbour-light',
      seed: 7,
      recipe: 'combined',
      environment: { name: 'intercode-sql', trainTasks: settings.trainTasks, heldOutTasks: settings.heldOutTasks },
      rollouts: { attempts: settings.attempts, temperature: 0.9 },
      pairs: { hardNegativeReward: 0.6 },
      evaluation: { temperature: 0, confidence: 0.95 },
      note: 'a value with <b>markup</b> & "quotes"',
    },
    spec_hash: 'c0ffee'.padEnd(64, '0'),
    seed: 7,
    status: 'finished',
    created_at: at(0, 0),
    finished_at: finishedAt,
  };
}

/** An evaluation row as the service writes it, from rewards by task. */
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
