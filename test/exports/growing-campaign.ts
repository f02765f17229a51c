import type { Pool } from 'pg';
import { attempt, hash, newCampaign, task, trainingRun, type NewCampaign } from '../store/support/new-campaign';

/** A point as trackers store it: name, step, and a value of 32 bits. */
export type Point = readonly [name: string, step: number, value: number];

export const point = (name: string, step: number, value: number): Point => [name, step, Math.fround(value)];

/** Sorts points, so that equal sets are equal arrays and a doubled point is seen. */
export const sorted = (points: readonly Point[]): string[] => points.map((p) => JSON.stringify(p)).sort();

/** A campaign whose iterations a test plays, and the points that its committed rows must give. */
export type GrowingCampaign = NewCampaign & {
  points: Point[];
  /** Plays an iteration: a job of `updates` updates and two steps of RL, one commit after another. */
  play(iteration: number, updates?: number): Promise<void>;
  finish(): Promise<void>;
};

export async function growingCampaign(pool: Pool): Promise<GrowingCampaign> {
  const campaign = await newCampaign(pool, 0);
  const { store, campaignId, name, key: start } = campaign;
  await store.tasks.seed(start, [task('seed')]);
  const points: Point[] = [];
  let earlierUpdates = 0;
  let earlierSteps = 0;
  let tokens = 0;

  async function trainOn(key: NewCampaign['key'], updates: number): Promise<string> {
    const { iteration, epoch } = key;
    const job = { jobKey: `campaign/${name}/iteration/${iteration}/train/target`, epoch };
    await store.trainingRuns.save(key, trainingRun(job.jobKey), []);
    for (let step = 1; step <= updates; step++) {
      const facts = { loss: 1 / (step + iteration), grad_norm: step * 1.5, tokens: 7 * step };
      await store.trainingProgress.save(job, [{ step, ...facts }]);
      const numbers = Object.entries({ ...facts, iteration });
      points.push(...numbers.map(([fact, value]) => point(`train/target/${fact}`, earlierUpdates + step, value)));
    }
    const id = hash('0').slice(4) + String(iteration).padStart(4, '0');
    await store.policies.save(key, {
      id,
      role: 'target',
      parentId: null,
      trainingRun: job.jobKey,
      uri: `file:///${id}`,
    });
    await store.trainingRuns.succeed(job, id, { tokens: 10, seconds: 1, updates });
    earlierUpdates += updates;
    return id;
  }

  async function reinforce(key: NewCampaign['key']): Promise<void> {
    const { iteration, epoch } = key;
    const job = { jobKey: `campaign/${name}/iteration/${iteration}/train/failure`, epoch };
    const rl = { role: 'failure', method: 'grpo', datasetSha256: null, datasetUri: null, steps: 2 } as const;
    await store.trainingRuns.save(key, trainingRun(job.jobKey, rl), []);
    for (let step = 1; step <= 2; step++) {
      await store.rlSteps.save(key, { jobKey: job.jobKey, step, datasetSha256: hash('d'), datasetRows: 1 }, []);
      await store.rlSteps.finish(job, step, hash('e'), { kl: step / 8 });
      points.push(point('rl/failure/kl', earlierSteps + step, step / 8));
      points.push(point('rl/failure/iteration', earlierSteps + step, iteration));
    }
    earlierSteps += 2;
  }

  async function rollOut(key: NewCampaign['key'], policyId: string): Promise<void> {
    const { iteration } = key;
    const played = { ...key, phase: 'rollout', previous: null } as const;
    await store.iterations.beginPhase(played);
    const rewards = [0, 0.5, 1, 1];
    for (const [n, reward] of rewards.entries())
      await store.trajectories.save(attempt(key, { purpose: 'train', taskId: 'seed', policyId, attempt: n, reward }));
    await store.iterations.commitPhase(played, { scored: 4, 'held out': 1.5, note: 'text' });
    const seconds = await pool.query<{ seconds: number }>(
      `select extract(epoch from finished_at - started_at)::float8 as seconds from phases
       where campaign_id = $1 and iteration = $2`,
      [campaignId, iteration],
    );
    const phase = { scored: 4, held_out: 1.5, seconds: seconds.rows[0]!.seconds };
    const rollout = { attempts: 4, scored: 4, mean_reward: 0.625, success: 0.5, mean_turns: 1 };
    points.push(...Object.entries(phase).map(([count, value]) => point(`phase/rollout/${count}`, iteration, value)));
    const numbers = Object.entries({ ...rollout, mean_answer_tokens: 2 });
    points.push(...numbers.map(([number, value]) => point(`rollout/target/${number}`, iteration, value)));
  }

  async function evaluate(key: NewCampaign['key'], policyId: string): Promise<void> {
    const solved = { tasks: 4, successes: 2, successLow: 0.25, successHigh: 0.75, meanReward: 0.5 };
    const none = { mcnemarP: null, meanDifference: null, differenceLow: null, differenceHigh: null };
    await store.evaluations.save(key, { policyId, incumbentId: null, ...solved, wins: null, losses: null, ...none });
    const { tasks, successes } = solved;
    const shown = { tasks, successes, success: 0.5, success_low: 0.25, success_high: 0.75, mean_reward: 0.5 };
    const numbers = Object.entries(shown);
    points.push(...numbers.map(([score, value]) => point(`evaluation/dev/target/${score}`, key.iteration, value)));
  }

  return {
    ...campaign,
    points,
    finish: () => store.campaigns.setStatus(campaignId, 'finished'),
    async play(iteration, updates = 5) {
      const key = { campaignId, iteration, epoch: await store.iterations.open(campaignId, iteration) };
      const policyId = await trainOn(key, updates);
      await rollOut(key, policyId);
      await reinforce(key);
      await evaluate(key, policyId);
      await store.ledger.settle(key, `iteration/${iteration}/rollout`, { tokens: 8, seconds: 2 });
      tokens += 8;
      await store.iterations.close(key);
      points.push(point('spending/tokens', iteration, tokens), point('spending/seconds', iteration, tokens / 4));
    },
  };
}
