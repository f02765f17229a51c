// Runs one phase of a seeded campaign as its activity and prints its cost as JSON:
//   node -r ./tools/typescript-hook.cjs bench/scale/phase.ts <database url> <campaign id> <iteration> <phase> <folder>
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { createActivities } from '../../src/activities';
import { phaseContext } from '../../src/activities/campaign/commit-phase';
import { phaseRecords } from '../../src/activities/campaign/phase-records';
import type { Dependencies } from '../../src/activities/context/dependencies';
import { artifactStore } from '../../src/artifacts/artifact-store';
import { createModelService } from '../../src/llm/model-service';
import { createStore } from '../../src/store';
import { contentHash } from '../../src/store/audit/content-hash';
import { createPool } from '../../src/store/database/pool';

/**
 * `seconds` of processor time of this process, `wallSeconds` with the work of the database; `blockedMs`: the longest time
 * in which no other work of the process continued.
 */
export type Cost = { seconds: number; wallSeconds: number; peakMiB: number; blockedMs: number };

async function main([url, campaign, number, phase, folder]: string[]): Promise<void> {
  const pool = createPool(url!);
  const store = createStore(pool);
  const deps = {
    store,
    artifacts: artifactStore(folder!),
    models: createModelService({ store, providers: new Map() }),
  };
  const dependencies = deps as unknown as Dependencies;
  const { store: activities } = createActivities(dependencies);
  const campaignId = Number(campaign);
  const iteration = Number(number);
  const key = { campaignId, iteration, epoch: 1 };
  const next = { ...key, iteration: iteration + 1 };
  const phases: Record<string, () => Promise<unknown>> = {
    signals: () => activities.detectSignals(key),
    pairs: () => activities.buildPreferencePairs(key),
    plan: () => activities.planIteration(next),
    count: async () => {
      const context = await phaseContext(dependencies, { ...next, phase: 'plan', previous: null });
      await phaseRecords.plan.verify(context);
      await phaseRecords.plan.count(context);
    },
    admit: () => activities.admitTasks(key),
    'train-pairs': () => prepare('pairs-and-experts', 'target'),
    'train-successes': () => prepare('expert-and-successes', 'failure'),
    hash: () => contentHash(pool, campaignId),
  };
  const prepare = (data: 'pairs-and-experts' | 'expert-and-successes', role: 'target' | 'failure') =>
    activities.prepareTraining({ ...key, role, method: 'sft', data, from: 'base' });

  await pool.query('select 1');
  const delay = monitorEventLoopDelay({ resolution: 5 });
  const before = process.cpuUsage();
  const start = performance.now();
  delay.enable();
  await phases[phase!]!();
  const wallSeconds = (performance.now() - start) / 1000;
  await new Promise((resolve) => void setTimeout(resolve, 20)); // the last block is counted by the next tick
  delay.disable();
  const { user, system } = process.cpuUsage(before);
  const cost = {
    seconds: (user + system) / 1e6,
    wallSeconds,
    peakMiB: process.resourceUsage().maxRSS / 1024,
    blockedMs: delay.max / 1e6,
  };
  process.stdout.write(JSON.stringify(cost));
  await pool.end();
}

main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exitCode = 1;
});
