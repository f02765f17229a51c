import * as ids from '../../../src/domain/campaign/ids';

const second = { name: 'demo', iteration: 3, epoch: 2 };
const first = { ...second, epoch: 1 };
const shard = { purpose: 'evaluation', player: 'target', step: 0, number: 4 } as const;
const attempt = { iteration: 2, purpose: 'train', policyId: 'abcdef0123456789', taskId: 'sql/7', attempt: 1 } as const;

// Ids are names in Temporal and in the database, and some enter seeds: a changed form is another campaign.
test.each([
  ['a campaign', ids.campaignWorkflowId('demo'), 'campaign/demo'],
  ["a campaign's sessions", ids.sessionHolder(12), 'campaign/12'],
  ['an iteration', ids.iterationWorkflowId('demo', 3), 'campaign/demo/iteration/3'],
  ['a later epoch', ids.iterationWorkflowId('demo', 3, 2), 'campaign/demo/iteration/3/epoch/2'],
  ['a shard', ids.rolloutWorkflowId(first, shard), 'campaign/demo/iteration/3/rollout/evaluation/target/4'],
  [
    'a shard of an RL step in a later epoch',
    ids.rolloutWorkflowId(second, { ...shard, step: 5 }),
    'campaign/demo/iteration/3/epoch/2/rollout/evaluation/step/5/target/4',
  ],
  [
    'an exploration',
    ids.explorationWorkflowId(first, 'rare', { number: 6, refill: 0 }),
    'campaign/demo/iteration/3/explore/rare/6',
  ],
  [
    'an exploration of a refill',
    ids.explorationWorkflowId(first, 'rare', { number: 6, refill: 2 }),
    'campaign/demo/iteration/3/explore/rare/refill/2/6',
  ],
  [
    'the validation of a refill',
    ids.rolloutWorkflowId(first, { ...shard, refill: 2 }),
    'campaign/demo/iteration/3/rollout/evaluation/refill/2/target/4',
  ],
  ["a training job's key", ids.trainingJobKey('demo', 3, 'base'), 'campaign/demo/iteration/3/train/base'],
  ['its workflow', ids.trainingWorkflowId(first, 'failure'), 'campaign/demo/iteration/3/train/failure'],
  [
    'its workflow in a later epoch',
    ids.trainingWorkflowId(second, 'failure'),
    'campaign/demo/iteration/3/epoch/2/train/failure',
  ],
  ['an attempt of a policy', ids.trajectoryId(attempt), '2/train/abcdef012345/sql/7/1'],
  ['an attempt of the reference', ids.trajectoryId({ ...attempt, policyId: null }), '2/train/reference/sql/7/1'],
  ['a feedback signal', ids.feedbackSignalId(2, 'rare', 9), '2/rare/9'],
  ['a preference pair', ids.preferencePairId(2, 'target', 'expert-failure', 9), '2/target/expert-failure/9'],
  ['a candidate', ids.candidateTaskId(2, 'rare', '9.1'), 'synthesized/2/rare/9.1'],
  ['an exploration context', ids.explorationContextId(2, 'rare', 9), '2/rare/9'],
  ['an exploration run', ids.explorationRunId('2/rare/9', 1), '2/rare/9/run/1'],
])('the id of %s is %s', (_, id, expected) => {
  expect(id).toBe(expected);
});

test.each([
  ['synthesized/0/random/12.3', 'random'],
  ['synthesized/11/forgetting/0', 'forgetting'],
  ['imported/7', 'random'],
  ['imported/synthesized/1/rare/0', 'random'],
])('the aim of the task %s is %s', (id, aim) => {
  expect(ids.aimOfTask(id)).toBe(aim);
});
