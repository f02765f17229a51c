// Records the histories of finished campaigns for test/workflows/replay.test.ts, from the stack that is up:
//
//     npm run -s build && node dist/cli/main.js up &&
//       node scripts/record-histories.mjs <version> <combined> <coevolve> <imported>
//
// Do this whenever the workflows change on purpose, under the version that will have the change. What earlier versions
// recorded stays: campaigns that they began go on with the newest code. The first campaign is of the recipe `combined`,
// the second of `coevolve` with an `llm` section, each with at least one iteration after the supervised start; tiny ones
// are enough, but the second needs a rare signal to explore for. The third begins from an imported model and trains long
// enough for its jobs to send news: examples/smollm2.yaml does. What tells of the machine (identities, queue names of
// processes) is left out.
import { mkdir, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';

const require = createRequire(import.meta.url);
const { readConfig } = require('../dist/config.js');
const { readStackConfig } = require('../dist/stack/index.js');
const { connectClient } = require('../dist/temporal/connect.js');

const folder = fileURLToPath(new URL('../test/histories/', import.meta.url));
const [version, ...names] = process.argv.slice(2);
const [combined, coevolve, imported] = names.map((name) => `campaign/${name}`);
if (!imported) {
  process.stderr.write('usage: node scripts/record-histories.mjs <version> <combined> <coevolve> <imported>\n');
  process.exit(1);
}

const client = await connectClient(readStackConfig(readConfig()));
try {
  const ids = {
    'campaign-last-run': [combined],
    'campaign-first-run': [combined, await firstRunOf(combined)],
    'iteration-start': [`${combined}/iteration/0`],
    'iteration-co-evolution': [`${combined}/iteration/1`],
    'iteration-first-pool': [`${coevolve}/iteration/0`],
    'iteration-reinforcement': [`${coevolve}/iteration/1`],
    'roll-out': [`${combined}/iteration/1/roll-out/train/target/0`],
    'roll-out-of-step': [`${coevolve}/iteration/1/roll-out/train/step/1/target/0`],
    train: [`${combined}/iteration/1/train/target`],
    explore: [`${coevolve}/iteration/1/explore/rare/0`],
    'iteration-imported-start': [`${imported}/iteration/0`],
    'train-with-news': [`${imported}/iteration/0/train/target`],
  };
  await mkdir(folder, { recursive: true });
  for (const [name, id] of Object.entries(ids)) {
    const text = scrubbed(historyToJSON(await client.workflow.getHandle(...id).fetchHistory()));
    const file = `${name}-${version}.json`;
    await writeFile(`${folder}${file}`, `${text}\n`);
    process.stdout.write(`${file}: ${text.length} bytes\n`);
  }
} finally {
  await client.connection.close();
}

async function firstRunOf(workflowId) {
  const runs = [];
  for await (const run of client.workflow.list({ query: `WorkflowId = "${workflowId}"` })) runs.push(run);
  return runs.sort((a, b) => a.startTime - b.startTime)[0].runId;
}

/** Identities and the names of sticky queues hold pids and host names; build ids differ with every build. */
function scrubbed(json) {
  const machine = new Set(['workerVersion', 'buildId', 'binaryChecksum']);
  const scrub = (key, value) => {
    if (key === 'identity') return 'recorded';
    if (machine.has(key)) return undefined;
    if (key === 'taskQueue' && value.kind === 'TASK_QUEUE_KIND_STICKY') return { ...value, name: 'recorded' };
    return value;
  };
  const { events } = JSON.parse(json, scrub);
  return `{"events":[\n${events.map((event) => JSON.stringify(event)).join(',\n')}\n]}`; // one a line, for diffs
}
