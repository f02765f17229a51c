import type { OpenWorkflow } from '../../../tools/chaos/open-workflows';
import { waitsForTrainer } from '../../../tools/chaos/recovery';

const workflow = (workflowId: string, pending: { begun?: string; waiting?: string }): OpenWorkflow => {
  const activity = { workflowId, runId: 'run', activityId: '1', attempt: 1, pid: 7 };
  const { begun, waiting } = pending;
  return {
    workflowId,
    runId: 'run',
    waitsSince: null,
    events: 9,
    begun: begun ? [{ ...activity, type: begun }] : [],
    waiting: waiting ? [{ activityId: '1', type: waiting }] : [],
  };
};

test.each([
  ['a step that has its batch', workflow('campaign/a-1/iteration/1', { begun: 'trainStep' }), true],
  ['a step that waits for a worker', workflow('campaign/a-1/iteration/1', { waiting: 'trainStep' }), true],
  ['a job that is watched', workflow('campaign/a-1/iteration/1/train/target', { begun: 'watchTraining' }), true],
  ['the rollouts before a step', workflow('campaign/a-1/iteration/1', { begun: 'collectRollouts' }), false],
  ['a campaign with a longer name', workflow('campaign/a-10/iteration/1', { begun: 'trainStep' }), false],
  ['a campaign with a shorter name', workflow('campaign/a', { begun: 'trainStep' }), false],
])('the check for workflows that wait for a trainer covers %s', (_, open, waits) => {
  expect(waitsForTrainer(open, 'artifacts/jobs/campaign/a-1/iteration/1/train/target')).toBe(waits);
});
