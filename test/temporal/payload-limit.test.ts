import { ApplicationFailure } from '@temporalio/common';
import { payloadLimitBytes } from '../../src/temporal/payload-limit';
import type { CampaignState } from '../../src/domain/campaign/progress';
import type { campaign } from '../../src/workflows';
import { statusQuery } from '../../src/workflows/temporal/messages';
import { until } from '../support/stack';
import { startTemporal, type TestTemporal } from '../support/temporal';
import { nothingSpent, queues, scriptedActivities, stateOf } from '../workflows/scripted-activities';

let temporal: TestTemporal;
beforeAll(async () => {
  temporal = await startTemporal();
});
afterAll(() => temporal?.remove());

const large = 'x'.repeat(payloadLimitBytes);
const start = (name: string, note: string): { workflowId: string; taskQueue: string; args: [CampaignState] } => ({
  workflowId: `campaign/${name}`,
  taskQueue: 'workflow',
  args: [{ ...stateOf(name, 'eto', 0), pausedBy: note }],
});

test('a workflow cannot be started with more than 32 KB', async () => {
  await expect(temporal.client.workflow.start('campaign', start('large-start', large))).rejects.toThrow(
    /pass an id instead/,
  );
});

test('an activity that returns more than 32 KB fails, and its result does not reach a history', async () => {
  const returned: string[] = [];
  const script = scriptedActivities('large-result', {
    commitPhase: ({ phase }) => {
      const note = phase === 'plan' && returned.length === 0 ? large : 'small';
      if (note === large) returned.push(large);
      return Promise.resolve({ note, spending: nothingSpent });
    },
  });
  const handle = await temporal.withWorkers(queues, script.activities, async () => {
    const started = await temporal.client.workflow.start('campaign', start('large-result', ''));
    await started.result();
    return temporal.client.workflow.getHandle('campaign/large-result/iteration/0');
  });
  expect(returned).toHaveLength(1);
  const history = await handle.fetchHistory();
  expect(JSON.stringify(history.events).length).toBeLessThan(5 * payloadLimitBytes);
});

test('a failure with a message of more than 32 KB parks the campaign with the start of the message', async () => {
  const script = scriptedActivities('long-failure', {
    planIteration: () => Promise.reject(ApplicationFailure.nonRetryable(`first words ${large}`, 'Long')),
  });
  await temporal.withWorkers(queues, script.activities, async () => {
    const handle = await temporal.client.workflow.start<typeof campaign>('campaign', start('long-failure', ''));
    const { progress } = await until(async () => {
      const state = await handle.query(statusQuery);
      return state.status === 'parked' && state;
    });
    expect(progress.parked).toMatch(/^first words x{1000}/);
    await handle.terminate();
  });
});
