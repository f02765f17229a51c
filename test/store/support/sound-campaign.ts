import type { Pool } from 'pg';
import type { Phase } from '../../../src/domain/campaign/phases';
import type { Purpose } from '../../../src/domain/rollout/trajectory';
import type { IterationKey } from '../../../src/store/database/epoch';
import { taskCampaign, type TaskCampaign } from '../../activities/context/task-campaign';
import { addPolicy, attempt, hash, task } from './new-campaign';

export const attemptIds = {
  expert: '0/expert/reference/seed/0',
  lost: `1/train/${hash('a').slice(0, 12)}/seed/0`,
};

/** Stores the rows of a consistent campaign of two iterations: expert attempts, attempts, a pair and a promotion. */
export async function finishedCampaign(pool: Pool): Promise<TaskCampaign> {
  const campaign = await taskCampaign(
    pool,
    { recipe: 'eto', iterations: 1, rollouts: { attempts: 2 } },
    { iteration: 0 },
  );
  const { store, campaignId, key: start } = campaign;
  await phase(campaign, start, ['plan', null], async () => {
    await store.tasks.seed(start, [task('seed'), task('held', { split: 'held-out' })]);
    await store.tasks.plan(start, 'expert', ['seed']);
    await store.tasks.plan(start, 'evaluation', ['held']);
  });
  await phase(campaign, start, ['rollout', 'plan'], () =>
    play(campaign, start, { purpose: 'expert', taskId: 'seed' }, [1]),
  );
  await phase(campaign, start, ['train', 'rollout'], async () => {
    await addPolicy(campaign, { id: hash('a'), examples: [{ trajectoryId: attemptIds.expert, pairId: null }] });
    await promote(campaign, start, null, hash('a'));
  });
  await finish(campaign, start, hash('a'), null);

  const key = { campaignId, iteration: 1, epoch: await store.iterations.open(campaignId, 1) };
  await phase(campaign, key, ['plan', null], async () => {
    await store.tasks.plan(key, 'train', ['seed']);
    await store.tasks.plan(key, 'evaluation', ['held']);
  });
  await phase(campaign, key, ['rollout', 'plan'], () =>
    play(campaign, key, { purpose: 'train', taskId: 'seed', policyId: hash('a') }, [0, 1]),
  );
  await phase(campaign, key, ['detect', 'rollout'], () =>
    store.feedbackSignals.save(key, [
      { kind: 'boundary', taskId: 'seed', trajectoryId: attemptIds.lost, strength: 1, detail: {} },
    ]),
  );
  await phase(campaign, key, ['pair', 'detect'], () => pairUp(campaign, key));
  await phase(campaign, key, ['train', 'pair'], async () => {
    const examples = [{ trajectoryId: null, pairId: '1/target/expert-target/0' }];
    await addPolicy({ ...campaign, key }, { id: hash('b'), parentId: hash('a'), examples });
  });
  await finish(campaign, key, hash('b'), hash('a'));
  await store.campaigns.setStatus(campaignId, 'finished');
  return campaign;
}

async function phase(
  { store }: TaskCampaign,
  key: IterationKey,
  [name, previous]: [Phase, Phase | null],
  work: () => Promise<unknown>,
): Promise<void> {
  const phaseKey = { ...key, phase: name, previous };
  await store.iterations.beginPhase(phaseKey);
  await work();
  await store.iterations.commitPhase(phaseKey, {});
}

async function play(
  { store, pool, campaignId }: TaskCampaign,
  key: IterationKey,
  { purpose, taskId, policyId = null }: { purpose: Purpose; taskId: string; policyId?: string | null },
  rewards: readonly number[],
): Promise<void> {
  for (const [n, reward] of rewards.entries())
    await store.trajectories.save(attempt(key, { purpose, taskId, policyId, attempt: n, reward }));
  const name = purpose === 'evaluation' ? 'evaluate' : 'rollout';
  await pool.query(
    `insert into ledger (campaign_id, key, entry, unit, amount)
     values ($1, $2, 'settle', 'tokens', $3), ($1, $2, 'settle', 'seconds', $4)`,
    [campaignId, `iteration/${key.iteration}/${name}`, 5 * rewards.length, 0.5 * rewards.length],
  );
}

const pairUp = ({ store }: TaskCampaign, key: IterationKey): Promise<void> =>
  store.preferencePairs.save(key, 'target', {
    pairs: [
      {
        forRole: 'target',
        kind: 'expert-target',
        taskId: 'seed',
        hardNegative: false,
        chosenId: attemptIds.expert,
        rejectedId: attemptIds.lost,
        chosenReward: 1,
        rejectedReward: 0,
        lambdaDpo: 0.5,
        lambdaSft: 0.5,
      },
    ],
    dropped: [],
  });

async function promote(
  { pool, campaignId }: TaskCampaign,
  { iteration }: IterationKey,
  incumbent: string | null,
  id: string,
): Promise<void> {
  await pool.query(
    `insert into promotions (campaign_id, iteration, role, candidate_id, incumbent_id, decision, reason, epoch)
     values ($1, $2, 'target', $3, $4, 'promote', 'better', 1)`,
    [campaignId, iteration, id, incumbent],
  );
  await pool.query(
    `insert into active_policies (campaign_id, role, policy_id) values ($1, 'target', $2)
     on conflict (campaign_id, role) do update set policy_id = excluded.policy_id`,
    [campaignId, id],
  );
}

/** Stores the evaluation, the decision and the cost of an iteration. */
async function finish(
  campaign: TaskCampaign,
  key: IterationKey,
  policyId: string,
  incumbent: string | null,
): Promise<void> {
  const { store, pool, campaignId } = campaign;
  const run = `(select training_run from policies where campaign_id = ${campaignId} and id = '${policyId}')`;
  await pool.query(
    `insert into ledger (campaign_id, key, entry, unit, amount) values ($1, ${run}, 'settle', 'tokens', 10)`,
    [campaignId],
  );
  await phase(campaign, key, ['evaluate', 'train'], async () => {
    await play(campaign, key, { purpose: 'evaluation', taskId: 'held', policyId }, [1]);
    await pool.query(
      `insert into evaluations (campaign_id, iteration, policy_id, incumbent_id, tasks, successes, success_low,
         success_high, mean_reward, epoch)
       values ($1, $2, $3, $4, 1, 1, 0, 1, 1, 1)`,
      [campaignId, key.iteration, policyId, incumbent],
    );
    if (incumbent) await promote(campaign, key, incumbent, policyId);
  });
  await phase(campaign, key, ['report', 'evaluate'], () => store.iterations.close(key));
}
