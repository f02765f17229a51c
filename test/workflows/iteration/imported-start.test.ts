import type { campaign } from '../../../src/workflows';
import { startTemporal, type TestTemporal } from '../../support/temporal';
import { queues, scriptedActivities, stateOf } from '../scripted-activities';

const base = 'b'.repeat(64);
let temporal: TestTemporal;
beforeAll(async () => {
  temporal = await startTemporal();
});
afterAll(() => temporal?.remove());

test.each([
  { start: 'sft', trained: ['failure', 'target'], taken: ['base'] },
  { start: 'base', trained: [], taken: ['base', 'failure', 'target'] },
])('an imported model is taken over without a job; start: $start', async ({ start, trained, taken }) => {
  const name = `imported-${start}`;
  const script = scriptedActivities(
    name,
    {
      prepareTraining: ({ role, method }) =>
        Promise.resolve({ jobKey: role, rows: 1, ...(method === 'import' ? { policyId: base } : {}) }),
    },
    { policy: { source: 'imported', model: 'smollm2' }, start },
  );
  await temporal.withWorkers(queues, script.activities, async () => {
    const handle = await temporal.client.workflow.start<typeof campaign>('campaign', {
      workflowId: `campaign/${name}`,
      taskQueue: 'workflow',
      args: [stateOf(name, 'co-evolving-agents', 0)],
    });
    expect(await handle.result()).toMatchObject({ status: 'finished' });
  });
  expect(sorted(script.callsOf('submitTraining').map(({ jobKey }) => jobKey))).toEqual(trained);
  const registered = script.callsOf('registerPolicy');
  expect(registered[0]).toMatchObject({ role: 'base', policyId: base });
  const asBase = registered.filter(({ policyId }) => policyId === base);
  expect(sorted(asBase.map(({ role }) => role))).toEqual(taken);
});

/** Agents are trained side by side, in no order. */
const sorted = (names: unknown[]): unknown[] => names.map(String).toSorted();
