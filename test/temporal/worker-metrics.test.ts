import { runtimeOptions } from '../../src/temporal/connect-worker';
import type { campaign } from '../../src/workflows';
import { freePort } from '../support/environment-server';
import { startTemporal, type TestTemporal } from '../support/temporal';
import { queues, scriptedActivities, stateOf } from '../workflows/scripted-activities';

let temporal: TestTemporal;
let address: string;
beforeAll(async () => {
  address = `127.0.0.1:${await freePort()}`;
  temporal = await startTemporal(runtimeOptions({ metricsAddress: address }));
});
afterAll(() => temporal?.remove());

test("the metrics of a worker count in seconds, and an activity's reach to a day", async () => {
  await temporal.withWorkers(queues, scriptedActivities('measured', {}).activities, async () => {
    const workflowId = 'campaign/measured';
    const args: Parameters<typeof campaign> = [stateOf('measured', 'sft', 0)];
    await temporal.client.workflow.execute<typeof campaign>('campaign', { workflowId, taskQueue: 'workflow', args });
    const text = await (await fetch(`http://${address}/metrics`)).text();
    for (const name of ['execution_latency', 'schedule_to_start_latency']) {
      const buckets = text.split('\n').filter((line) => line.startsWith(`temporal_activity_${name}_seconds_bucket`));
      expect([name, buckets.some((line) => line.includes('le="86400"'))]).toEqual([name, true]);
    }
    expect(text).toMatch(/^temporal_workflow_completed_total\{/m);
    expect(text).not.toContain('milliseconds');
  });
});
