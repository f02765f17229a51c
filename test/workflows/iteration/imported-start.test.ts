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
  { start: 'sft', trained: ['failure', 'target'], imported: ['base'] },
  { start: 'base', trained: [], imported: ['base', 'failure', 'target'] },
])('an imported model is registered without a training job; start: $start', async ({ start, trained, imported }) => {
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
  expect(sorted(asBase.map(({ role }) => role))).toEqual(imported);
});

/** Agents are trained concurrently, so their order varies. */
const sorted = (names: unknown[]): unknown[] => names.map(String).toSorted();
