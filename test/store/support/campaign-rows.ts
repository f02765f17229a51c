import type { IterationKey } from '../../../src/store/database/epoch';
import {
  addPolicy,
  admitted,
  attempt,
  candidate,
  hash,
  newCampaign,
  task,
  turn,
  type NewCampaign,
} from './new-campaign';
import type { Pool } from 'pg';
import type { GroupedAttempt } from '../../../src/store/trajectories/attempt-groups';
import { addModelRows } from './model-rows';

/** Ids of the rows of `fullCampaign`. */
export const ids = {
  expert: '0/expert/reference/seed/0',
  failed: `1/train/${hash('a').slice(0, 12)}/seed/0`,
  validated: '1/validation/reference/made/0',
  signal: '1/forgetting/0',
  pair: '1/target/expert-target/0',
  start: hash('a'),
  trained: hash('b'),
};

const withFunctions = [
  { role: 'functions', content: '[]' },
  { role: 'user', content: 'How many?' },
];

/**
 * Stores a campaign with at least one row in every table: an expert attempt trains the first policy, which fails the
 * seed task; the failure gives a signal, the signal a synthesized task, and expert and failed attempt a pair, which
 * trains the next policy.
 */
export async function fullCampaign(pool: Pool): Promise<NewCampaign> {
  const campaign = await newCampaign(pool, 0);
  const { store, campaignId, key: start } = campaign;
  await store.campaigns.recordEvent(campaignId, { kind: 'start', actor: 'test' });
  await store.ledger.settle(start, 'iteration/0/rollout', { tokens: 5, seconds: 1 });
  await store.tasks.seed(start, [task('seed'), task('held', { split: 'held-out' })]);
  await store.tasks.plan(start, 'expert', ['seed']);
  await store.trajectories.save(attempt(start, { taskId: 'seed', opening: withFunctions }));
  await addPolicy(campaign, { id: ids.start, examples: [{ trajectoryId: ids.expert, pairId: null }] });
  await store.policies.setActivePolicy(start, 'target', null, ids.start);
  const approval = { iteration: 0, role: 'target', decision: 'promote', actor: 'test' } as const;
  await store.promotionApprovals.save(campaignId, approval);

  const key: IterationKey = { campaignId, iteration: 1, epoch: await store.iterations.open(campaignId, 1) };
  await store.iterations.beginPhase({ ...key, phase: 'plan', previous: null });
  const played = { purpose: 'train', policyId: ids.start } as const;
  await store.trajectories.save(attempt(key, { ...played, taskId: 'seed', reward: 0 }));
  await store.trajectories.recordFault(key, ids.failed, 'environment-fault', 'the environment failed once');
  const open = { ...key, trajectoryId: `${ids.failed.slice(0, -1)}1` };
  await store.turnJournal.record(open, turn(1));
  await store.turnJournal.recordResume(open, { outcome: 'resumed', turns: 1, detail: null });
  const groups = [{ taskId: 'seed', policyId: ids.start, attempts: [[0, 0, [0]] satisfies GroupedAttempt] }];
  const patterns = [{ pattern: 'select', count: 1, trajectories: 1, rewarded: false }];
  await store.attemptGroups.save(key, { iteration: 1, extractor: 'bigram' }, [groups], () => [patterns]);
  await store.feedbackSignals.save(key, [
    { kind: 'forgetting', taskId: 'seed', trajectoryId: ids.failed, strength: 1, detail: { before: 1 } },
  ]);
  await store.feedbackSignals.saveRates(key, [
    { kind: 'forgetting', played: 1, flagged: 1, unchanged: 0.5, permutations: 10 },
  ]);
  const made = { contentKey: 'made', parentTaskId: 'seed', parentSignalId: ids.signal };
  await store.tasks.propose(key, [candidate('made', made)]);
  await store.trajectories.save(attempt(key, { purpose: 'validation', taskId: 'made' }));
  await store.admission.decide(key, [admitted('made')]);
  await trainOnPair({ ...campaign, key });
  await addModelRows(pool, campaignId, ids);
  return { ...campaign, key };
}

async function trainOnPair(campaign: NewCampaign): Promise<void> {
  const { store, key } = campaign;
  await store.preferencePairs.save(key, 'target', {
    pairs: [
      {
        forRole: 'target',
        kind: 'expert-target',
        taskId: 'seed',
        hardNegative: false,
        chosenId: ids.expert,
        rejectedId: ids.failed,
        chosenReward: 1,
        rejectedReward: 0,
        lambdaDpo: 0.5,
        lambdaSft: 0.5,
      },
    ],
    dropped: [{ kind: 'failure-failure', reason: 'tie', count: 3 }],
  });
  const examples = [
    { trajectoryId: null, pairId: ids.pair },
    { trajectoryId: ids.validated, pairId: null },
  ];
  await addPolicy(campaign, { id: ids.trained, parentId: ids.start, examples });
  await store.policies.setActivePolicy(key, 'target', ids.start, ids.trained);
  const decision = { role: 'target', candidateId: ids.trained, incumbentId: ids.start } as const;
  await store.policies.recordDecision(key, { ...decision, decision: 'promote', reason: 'better' });
  await store.evaluations.save(key, {
    policyId: ids.trained,
    incumbentId: ids.start,
    tasks: 1,
    successes: 1,
    meanReward: 1,
    successLow: 0.2,
    successHigh: 1,
    wins: 1,
    losses: 0,
    mcnemarP: 1,
    meanDifference: 1,
    differenceLow: 0,
    differenceHigh: 1,
  });
}
