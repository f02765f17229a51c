// Measures how soon work continues after kill -9 of a worker, with the supervisor that `coevolve up` starts:
//   npm run build && node -r ./tools/typescript-hook.cjs bench/recovery.ts [default|fast] [kills per role]
// Two small campaigns run until all kills are done. A worker is killed while its role has work. The recovery ends when
// another process has started every activity of the killed worker, or Temporal has recorded its end; for the workflow
// worker, when a workflow task that was dispatched after the kill is completed. Prints a Markdown table in milliseconds.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { bringUpStack } from '../src/client/bring-up-stack';
import { withConnections, type Connections } from '../src/client/connections';
import { startCampaign } from '../src/client/start-campaign';
import { readConfig, type Config } from '../src/config';
import { findProcess } from '../src/process/processes';
import { stackDown } from '../src/stack';
import { specsOf } from '../tools/chaos/campaign-specs';
import { percentile } from '../tools/chaos/chaos-result';
import { openWorkflows, hasCompletedTaskAfter } from '../tools/chaos/open-workflows';
import { isCutOff } from '../tools/chaos/recovery';

const [profile = 'default', kills = '20'] = process.argv.slice(2);
const roles = ['store', 'rollout', 'llm', 'train', 'workflow'];
const timeoutMs = 60_000;

async function main(): Promise<void> {
  process.env['COEVOLVE_HOME'] = mkdtempSync(path.join(tmpdir(), 'coevolve-recovery-'));
  process.env['COEVOLVE_RECOVERY'] = profile;
  const bare = readConfig();
  try {
    const config = await bringUpStack(process.env, { onProgress: (line) => void process.stderr.write(`${line}\n`) });
    await withConnections((connections) => measure(connections, config), config);
  } finally {
    await stackDown(bare);
    rmSync(bare.home, { recursive: true, force: true });
  }
}

async function measure(connections: Connections, config: Config): Promise<void> {
  const client = await connections.temporal();
  const recoveries = new Map<string, number[]>(roles.map((role) => [role, []]));
  const missing = () => roles.filter((role) => recoveries.get(role)!.length < Number(kills));
  for (let generation = 1; missing().length > 0;) {
    if ((await openWorkflows(client)).length === 0)
      for (const spec of specsOf(generation++, 2)) await startCampaign(connections, spec);
    for (const role of missing()) {
      const ms = await killOne(client, config, role);
      if (ms !== null) recoveries.get(role)!.push(ms);
    }
    await sleep(50);
  }
  process.stdout.write(`| ${profile} | kills | p50 | p95 | max |\n| --- | --- | --- | --- | --- |\n`);
  for (const [role, all] of recoveries) {
    const [p50, p95, max] = [0.5, 0.95, 1].map((share) => percentile(all, share));
    process.stdout.write(`| worker-${role} | ${all.length} | ${p50} | ${p95} | ${max} |\n`);
  }
}

/** Kills the worker of a role; returns the milliseconds of its recovery, or null when the role had no work. */
async function killOne(client: Client, config: Config, role: string): Promise<number | null> {
  const pid = findProcess(config.home, `worker-${role}`)?.pid;
  const open = await openWorkflows(client);
  if (!pid || open.length === 0) return null;
  const begun = open.flatMap((workflow) => workflow.begun).filter((activity) => activity.pid === pid);
  if (role !== 'workflow' && begun.length === 0) return null;
  const killedAt = Date.now();
  process.kill(pid, 'SIGKILL');
  const hasRecovered = async (): Promise<boolean> =>
    role === 'workflow'
      ? isDecidedSince(client, killedAt)
      : (await Promise.all(begun.map((activity) => isCutOff({ client }, activity)))).every((cutOff) => !cutOff);
  while (!(await hasRecovered())) {
    if (Date.now() - killedAt > timeoutMs) throw new Error(`worker-${role}: no recovery within ${timeoutMs} ms`);
    await sleep(25);
  }
  const ms = Date.now() - killedAt;
  process.stderr.write(`worker-${role}: ${ms} ms\n`);
  return ms;
}

/** Returns whether a workflow task that was dispatched after the kill is completed. */
async function isDecidedSince(client: Client, killedAt: number): Promise<boolean> {
  const query = `CloseTime > "${new Date(killedAt).toISOString()}" or ExecutionStatus = "Running"`;
  for await (const run of client.workflow.list({ query }))
    if (await hasCompletedTaskAfter(client, run, killedAt)) return true;
  return false;
}

main().catch((error: unknown) => {
  process.stderr.write(`${String(error)}\n`);
  process.exitCode = 1;
});
