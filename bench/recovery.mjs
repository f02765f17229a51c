// How soon work goes on after kill -9 of a worker, with the supervisor that `coevolve up` starts:
//   npm run build && node bench/recovery.mjs [default|fast] [kills per role]
// Two small campaigns of every kind of work run until all kills are done. A kill falls when the role is at work; it is
// measured until another process has begun, or Temporal has seen the end of, every activity that the dead one had begun;
// for the workflow worker: until a workflow task that was given out after the kill is done. Prints a table as Markdown; milliseconds.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { specsOf } from '../dist/chaos/campaigns.js';
import { percentile } from '../dist/chaos/chaos-result.js';
import { openWorkflows, wentOnAfter } from '../dist/chaos/in-flight.js';
import { isCutOff } from '../dist/chaos/recovery.js';
import { withSession } from '../dist/cli/session.js';
import { startCampaign } from '../dist/cli/start-campaign.js';
import { bringUp } from '../dist/cli/up.js';
import { readConfig } from '../dist/config.js';
import { stackDown } from '../dist/stack/index.js';
import { findProcess } from '../dist/stack/processes.js';

const [profile = 'default', kills = '20'] = process.argv.slice(2);
const roles = ['store', 'rollout', 'llm', 'train', 'workflow'];
const longestMs = 60_000;

process.env.COEVOLVE_HOME = mkdtempSync(path.join(tmpdir(), 'coevolve-recovery-'));
process.env.COEVOLVE_RECOVERY = profile;
const bare = readConfig();
try {
  const config = await bringUp(bare);
  await withSession((session) => measure(session, config), config);
} finally {
  await stackDown(bare);
  rmSync(bare.home, { recursive: true, force: true });
}

async function measure(session, config) {
  const client = await session.temporal();
  const stack = { config, client };
  const recoveries = new Map(roles.map((role) => [role, []]));
  const missing = () => roles.filter((role) => recoveries.get(role).length < Number(kills));
  for (let generation = 1; missing().length > 0;) {
    if ((await openWorkflows(client)).length === 0)
      for (const spec of specsOf(generation++, 2)) await startCampaign(session, spec);
    for (const role of missing()) {
      const ms = await killOne(stack, role);
      if (ms !== null) recoveries.get(role).push(ms);
    }
    await sleep(50);
  }
  process.stdout.write(`| ${profile} | kills | p50 | p95 | longest |\n| --- | --- | --- | --- | --- |\n`);
  for (const [role, all] of recoveries) {
    const at = (share) => percentile(all, share);
    process.stdout.write(`| worker-${role} | ${all.length} | ${at(0.5)} | ${at(0.95)} | ${at(1)} |\n`);
  }
}

/** Null when the role was not at work. */
async function killOne({ client, config }, role) {
  const pid = findProcess(config.home, `worker-${role}`)?.pid;
  const open = await openWorkflows(client);
  if (!pid || open.length === 0) return null;
  const begun = open.flatMap((workflow) => workflow.begun).filter((activity) => activity.pid === pid);
  if (role !== 'workflow' && begun.length === 0) return null;
  const at = Date.now();
  process.kill(pid, 'SIGKILL');
  const goesOn = () =>
    role === 'workflow'
      ? isDecidedSince(client, at)
      : Promise.all(begun.map(async (one) => !(await isCutOff({ client }, one))));
  while (![await goesOn()].flat().every(Boolean)) {
    if (Date.now() - at > longestMs) throw new Error(`worker-${role}: nothing goes on`);
    await sleep(25);
  }
  const ms = Date.now() - at;
  process.stderr.write(`worker-${role}: ${ms} ms\n`);
  return ms;
}

/** Whether a workflow task that was given out after the kill is done. */
async function isDecidedSince(client, at) {
  const query = `CloseTime > "${new Date(at).toISOString()}" or ExecutionStatus = "Running"`;
  for await (const run of client.workflow.list({ query })) if (await wentOnAfter(client, run, at)) return true;
  return false;
}
