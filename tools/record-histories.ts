// Records the workflow histories that test/workflows/replay.test.ts replays, and the specs that test/specification/released-specs.test.ts
// reads, for the version in package.json:
//
//     npm run build && node -r ./tools/typescript-hook.cjs tools/record-histories.ts
//
// Run it for every release. The histories of earlier releases stay: their campaigns continue with the newest code. The
// tool starts a stack and a scripted model, runs small campaigns with every operator command, and takes about two minutes.
// Identities, build ids, stack traces and queue names of the machine are removed.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { WorkflowFailedError } from '@temporalio/client';
import { historyToJSON } from '@temporalio/common/lib/proto-utils';
import { version } from '../package.json';
import { UsageError } from '../src/errors/errors';
import { campaignWorkflowId } from '../src/domain/campaign/ids';
import type { CampaignState } from '../src/domain/campaign/progress';
import { recipeNames } from '../src/domain/campaign/recipe';
import { resolveSpec } from '../src/specification/read-spec';
import { judgedSqlExplorer } from '../test/support/models/sql-explorer';
import { startScriptedModel, type ScriptedModel } from '../test/support/models/scripted-model';
import { insertFrozen, twoArms } from '../test/support/frozen-experiment';
import { bringUpStack, until, type TestStack } from '../test/support/stack';

type Spec = { name: string } & Record<string, unknown>;

const folder = path.resolve(__dirname, '../test/histories', version);

const small = {
  seed: 5,
  environment: {
    name: 'intercode-sql',
    options: { databases: ['pets_1', 'poker_player'], max_difficulty: 2 },
    trainTasks: 24,
    heldOutTasks: 8,
    maxTurns: 2,
  },
  rollouts: { attempts: 2, maxTokens: 32 },
  training: {
    init: { hiddenSize: 48, layers: 1, heads: 2, kvHeads: 1, feedForwardSize: 96 },
    sft: { epochs: 2, batchSize: 4 },
    dpo: { epochs: 1 },
    target: { epochs: 1 },
  },
};
const price = { inputPerMillion: 1, outputPerMillion: 2 };
const guided = {
  ...small,
  recipe: 'coevolve',
  iterations: 1,
  llm: {
    models: {
      explorer: { provider: 'scripted', model: 'large', price },
      judge: { provider: 'scripted', model: 'careful', price },
      embedding: { provider: 'scripted', model: 'vectors', price: { ...price, outputPerMillion: 0 } },
    },
  },
  rollouts: { ...small.rollouts, tasksPerStep: 4, stepsPerIteration: 2 },
  signals: { rare: { minTotal: 2, thetaPercent: 40, among: 'all', measure: 'share' } }, // a barely trained policy has many rare failures
  synthesis: {
    initialTasks: 6,
    candidatesPerSignal: 6,
    exploration: { contextsPerSignal: 2, rounds: 2, maxTurns: 8 },
  },
  judge: { calibrationTasks: 6 },
};
/** Parks in the phases `synthesize` and `validate` of the supervised start. */
const unpaid = { ...guided, budget: { llmTokens: 1 } };

async function main(): Promise<void> {
  let stack: TestStack | undefined;
  const model = await startScriptedModel(judgedSqlExplorer(() => stack!.pool));
  try {
    stack = await bringUpStack('histories', { scripted: providerOf(model) });
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    recordSpecs();
    await recordAll(stack);
  } finally {
    await stack?.remove();
    await model.stop();
  }
}

/** Writes a spec of each recipe as it is stored: with every default. */
function recordSpecs(): void {
  const specs = recipeNames.map((recipe) =>
    resolveSpec({ name: recipe, seed: 7, environment: { name: 'intercode-sql' }, recipe }, recipe),
  );
  const file = path.resolve(__dirname, '../test/specification/released', `${version}.jsonl`);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, specs.map((spec) => `${JSON.stringify(spec)}\n`).join(''));
}

const providerOf = ({ url }: ScriptedModel) => ({ url });

async function recordAll(stack: TestStack): Promise<void> {
  const record = (file: string, workflowId: string, runId?: string) => recordHistory(stack, file, workflowId, runId);

  await finish(stack, { ...small, name: 'combined', recipe: 'combined', iterations: 1 });
  await record('campaign-last-run', 'campaign/combined');
  await record('campaign-first-run', 'campaign/combined', await firstRunOf(stack, 'combined'));
  await record('iteration-start', 'campaign/combined/iteration/0');
  await record('iteration-co-evolution', 'campaign/combined/iteration/1');
  await record('rollout', 'campaign/combined/iteration/1/rollout/train/target/0');
  await record('train', 'campaign/combined/iteration/1/train/target');

  await finish(stack, { ...guided, name: 'guided' });
  await record('iteration-first-pool', 'campaign/guided/iteration/0');
  await record('iteration-reinforcement', 'campaign/guided/iteration/1');
  await record('rollout-of-step', 'campaign/guided/iteration/1/rollout/train/step/1/target/0');
  await record('explore', 'campaign/guided/iteration/0/explore/random/0');

  await importBase(stack);
  const policy = { source: 'imported', model: 'base' };
  await finish(stack, { ...small, name: 'imported', recipe: 'eto', iterations: 0, policy });
  await record('iteration-imported-start', 'campaign/imported/iteration/0');

  await start(stack, { ...small, name: 'aborted', recipe: 'eto', iterations: 1 });
  await stack.cli('abort', 'aborted');
  await ended(stack, 'aborted');
  await record('campaign-aborted', 'campaign/aborted');

  await start(stack, { ...unpaid, name: 'given-up' });
  await parked(stack, 'given-up');
  await stack.cli('stop', 'given-up');
  await ended(stack, 'given-up');
  await record('campaign-given-up', 'campaign/given-up');

  await start(stack, { ...unpaid, name: 'cancelled' });
  for (const phase of ['synthesize', 'validate']) {
    await reaches(stack, 'cancelled', ({ status, progress }) => status === 'parked' && progress.phase === phase);
    await stack.cli('skip', 'cancelled');
  }
  await reaches(stack, 'cancelled', ({ progress }) => progress.phase === 'train');
  await stack.client.workflow.getHandle('campaign/cancelled').cancel();
  await ended(stack, 'cancelled');
  await record('iteration-skipped-and-cancelled', 'campaign/cancelled/iteration/0');

  await record('campaign-paused-at-the-end', campaignWorkflowId(await pauseAtTheEnd(stack)));

  await experimentWithMissingCell(stack);
  await record('experiment', 'experiment/cells');
}

/** Plays two cells: one finishes, the other is aborted during a pause. */
async function experimentWithMissingCell(stack: TestStack): Promise<void> {
  const cell = (epochs: number) => {
    const { seed: _ofCells, ...spec } = small;
    return { ...spec, recipe: 'sft', iterations: 0, training: { ...spec.training, sft: { epochs } } };
  };
  await insertFrozen(stack.pool, twoArms({ name: 'cells', looks: [1], concurrency: 1 }, cell(1), cell(2)));
  await stack.json('experiment', 'start', 'cells');
  await until(async () => (await stack.status('cells-long-s1').catch(() => null)) !== null);
  await stack.cli('experiment', 'pause', 'cells');
  await stack.cli('abort', 'cells-long-s1');
  await stack.cli('experiment', 'resume', 'cells');
  await stack.client.workflow.getHandle('experiment/cells').result();
}

/** Makes the base of a finished campaign an imported model. */
async function importBase(stack: TestStack): Promise<void> {
  const { rows } = await stack.pool.query<{ id: string }>(`select id from policies where iteration = 0 limit 1`);
  const base = path.join(stack.config.artifacts, 'policies', rows[0]!.id);
  const { code, stderr } = await stack.cli('model', 'import', base, '--name', 'base');
  if (code !== 0) throw new UsageError(stderr);
}

/** Returns the name of a campaign that was paused in its last phase; the phase is short, so it may take several campaigns. */
async function pauseAtTheEnd(stack: TestStack): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    const name = `paused-${attempt}`;
    await start(stack, { ...small, name, recipe: 'sft', iterations: 0 });
    await reaches(stack, name, ({ progress, status }) => progress.phase === 'report' || status === 'finished');
    await stack.client.workflow
      .getHandle(campaignWorkflowId(name))
      .executeUpdate('pause', { args: [{ actor: 'recorder' }] })
      .catch(() => undefined);
    const { status } = await stack.status(name);
    if (status !== 'paused') continue;
    await until(async () => (await iterationOf(stack, name)) === 'COMPLETED');
    await stack.cli('resume', name);
    await ended(stack, name);
    return name;
  }
}

const iterationOf = async (stack: TestStack, name: string): Promise<string> =>
  (await stack.client.workflow.getHandle(`${campaignWorkflowId(name)}/iteration/0`).describe()).status.name;

async function finish(stack: TestStack, spec: Spec): Promise<void> {
  await start(stack, spec);
  await ended(stack, spec.name);
}

const start = (stack: TestStack, spec: Spec) => stack.json('start', stack.specFile({ ...spec }));

const parked = (stack: TestStack, name: string) => reaches(stack, name, ({ status }) => status === 'parked');

const reaches = (stack: TestStack, name: string, isReached: (state: CampaignState) => boolean) =>
  until(async () => isReached(await stack.status(name)));

async function ended(stack: TestStack, name: string): Promise<void> {
  const handle = stack.client.workflow.getHandle(campaignWorkflowId(name));
  await handle.result().catch((error: unknown) => {
    if (!(error instanceof WorkflowFailedError)) throw error; // an aborted or given-up campaign
  });
}

async function firstRunOf(stack: TestStack, name: string): Promise<string> {
  const runs = [];
  const query = `WorkflowId = "${campaignWorkflowId(name)}"`;
  for await (const run of stack.client.workflow.list({ query })) runs.push(run);
  return runs.sort((a, b) => a.startTime.getTime() - b.startTime.getTime())[0]!.runId;
}

async function recordHistory(stack: TestStack, file: string, workflowId: string, runId?: string): Promise<void> {
  const history = await stack.client.workflow.getHandle(workflowId, runId).fetchHistory();
  writeFileSync(path.join(folder, `${file}.json`), `${withoutMachine(historyToJSON(history))}\n`);
  process.stderr.write(`${file}: ${history.events!.length} events of ${workflowId}\n`);
}

/** Removes build ids and stack traces; replaces identities and the names of sticky queues, which contain process ids and host names. */
function withoutMachine(json: string): string {
  const local = new Set(['workerVersion', 'buildId', 'binaryChecksum', 'stackTrace']);
  const scrub = (key: string, value: unknown): unknown => {
    if (key === 'identity') return 'recorded';
    if (local.has(key)) return undefined;
    const isSticky = key === 'taskQueue' && (value as { kind?: string }).kind === 'TASK_QUEUE_KIND_STICKY';
    return isSticky ? { ...(value as object), name: 'recorded' } : value;
  };
  const { events } = JSON.parse(json, scrub) as { events: unknown[] };
  return `{"events":[\n${events.map((event) => JSON.stringify(event)).join(',\n')}\n]}`; // one per line, for diffs
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exitCode = 1;
});
