import { existsSync } from 'node:fs';
import path from 'node:path';
import type { QueryResultRow } from 'pg';
import { activityNames } from '../../src/activities';
import { artifactStore } from '../../src/artifacts/artifact-store';
import { saveModel } from '../../src/artifacts/imported-models';
import { campaignWorkflowId } from '../../src/domain/campaign/ids';
import { failpointFile, failpointName, failpointPositions, type Failpoint } from '../../src/failpoints/read-failpoints';
import { contentHash, type ContentHash } from '../../src/store/audit/content-hash';
import { findViolations } from '../../src/store/audit/invariants';
import { localBackend } from '../../src/training/local/local-backend';
import { judgedSqlExplorer } from '../support/models/sql-explorer';
import { scoresHash } from '../../src/store/experiment/scores';
import { insertFrozen, twoArms } from '../support/frozen-experiment';
import { startScriptedModel, type ScriptedModel } from '../support/models/scripted-model';
import { testOfAll } from '../support/lane';
import { bringUpStack, hangTimeoutMs, runCli, until, type TestStack } from '../support/stack';

vi.setConfig({ testTimeout: hangTimeoutMs, hookTimeout: hangTimeoutMs });

const model = 'untrained';
const price = { inputPerMillion: 1, outputPerMillion: 2 };
const scripted = { provider: 'scripted', price };
const shared = {
  seed: 5,
  environment: {
    name: 'intercode-sql',
    options: { databases: ['pets_1', 'poker_player'], max_difficulty: 2 },
    trainTasks: 8,
    heldOutTasks: 4,
    maxTurns: 2,
  },
  policy: { source: 'imported', model },
  start: 'base',
  compute: { pricePerGpuHour: 1 }, // so that jobs reserve and settle dollars
};

/** An untrained policy fails in many ways. */
const signals = { rare: { minTotal: 2, thetaPercent: 40, among: 'all', measure: 'share' } };

const brief = { dpo: { epochs: 1 }, target: { epochs: 1 } };

/** Together these small campaigns execute every activity except the ones for operator commands. */
const campaigns = {
  pairs: {
    ...shared,
    recipe: 'combined',
    iterations: 1,
    rollouts: { attempts: 2, maxTokens: 8 },
    signals,
    synthesis: { candidatesPerSignal: 2 },
    training: brief,
  },
  updates: {
    ...shared,
    recipe: 'coevolve',
    iterations: 1,
    llm: {
      models: {
        explorer: { ...scripted, model: 'large' },
        judge: { ...scripted, model: 'careful' },
        embedding: { ...scripted, model: 'vectors', price: { ...price, outputPerMillion: 0 } },
      },
    },
    rollouts: { attempts: 2, maxTokens: 8, tasksPerStep: 2, stepsPerIteration: 2 },
    signals,
    synthesis: {
      initialTasks: 3,
      candidatesPerSignal: 2,
      solverAttempts: 1,
      exploration: { contextsPerSignal: 1, rounds: 2, maxTurns: 6 },
    },
    judge: { calibrationTasks: 2 },
  },
} as const;

type CampaignName = keyof typeof campaigns;
const names = Object.keys(campaigns) as CampaignName[];

/** The cells of an experiment: untrained policies play the tasks of their sets. */
const cell = (maxTokens: number) => ({ ...shared, recipe: 'eto', iterations: 0, rollouts: { attempts: 1, maxTokens } });

/** Every position of every activity, the first time that a process reaches it. */
const everyFailpoint: Failpoint[] = activityNames.flatMap((activity) =>
  failpointPositions.map((position) => ({ activity, position, nth: 1 })),
);

/** Positions that do not exist, with the reason; all others must be reached. */
const unreachable: Record<string, string> = {
  'choosePolicies:afterEffect:1': 'only reads',
  'choosePolicies:afterCommit:1': 'only reads',
  'countPlanned:afterEffect:1': 'only reads',
  'countPlanned:afterCommit:1': 'only reads',
  'unloadPolicies:afterCommit:1': 'changes only the policy server',
  'writeReport:afterCommit:1': 'writes a file',
};

let stack: TestStack;
let server: ScriptedModel;
const undisturbed = {} as Record<CampaignName, ContentHash>;
let undisturbedScores: string;
beforeAll(async () => {
  server = await startScriptedModel(judgedSqlExplorer(() => stack.pool));
  stack = await bringUpStack('failpoints', { scripted: { url: server.url } });
  await makeModel();
  await start('quiet');
  undisturbedScores = await scoresOf('quiet');
  for (const name of names) undisturbed[name] = await contentOf(name, 'quiet');
});
afterAll(async () => {
  await stack?.remove();
  await server?.stop();
});

/** Imports a policy with random weights, so that campaigns need no job for their start. */
async function makeModel(): Promise<void> {
  const artifacts = artifactStore(stack.config.artifacts);
  const backend = localBackend(stack.config, artifacts);
  const messages = [
    { role: 'user', content: 'How many pets are there, and which players have won?' },
    { role: 'assistant', content: 'select count(*) from pets where weight > 10' },
  ];
  const lines = Array.from({ length: 8 }, (_, n) => JSON.stringify({ trajectory_id: `t${n}`, messages }));
  const jobKey = 'model/untrained';
  await backend.submit({
    jobKey,
    method: 'init',
    base: null,
    reference: null,
    trainerState: null,
    seed: 1,
    dataset: await artifacts.saveDataset(lines),
    settings: { vocabulary_size: 320, hidden_size: 32, layers: 1, heads: 2, kv_heads: 1, feed_forward_size: 32 },
  });
  const job = await until(async () => {
    const status = await backend.status(jobKey);
    if (status.state === 'failed') throw new Error(status.failure.message);
    return status.state === 'succeeded' && status;
  });
  await saveModel(artifacts, {
    name: model,
    policyId: await artifacts.adoptPolicy(job.policyPath, job.policyHash),
    source: { kind: 'test' },
    license: 'none',
    chatFormat: 'plain',
    tools: false,
    architecture: 'small',
    weights: 'float32',
    parameters: 10_000,
  });
}

type Variables = Record<string, string>;

/** Starts all campaigns with the run in their names. */
async function start(run: string, variables: Variables = {}): Promise<void> {
  for (const name of names)
    await command(variables, 'start', stack.specFile({ name: `${name}-${run}`, ...campaigns[name] }));
}

/** Runs an experiment to its end and returns the hash of its long table. */
async function scoresOf(run: string, variables: Variables = {}): Promise<string> {
  const name = `cells-${run}`;
  const id = await insertFrozen(stack.pool, twoArms({ name, looks: [1], concurrency: 1 }, cell(6), cell(8)));
  await command(variables, 'experiment', 'start', name);
  await stack.client.workflow.getHandle(`experiment/${name}`).result();
  return scoresHash(stack.pool, id);
}

async function command(variables: Variables, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runCli({ ...stack.bare, recovery: 'fast' }, args, variables);
  if (code !== 0) throw new Error(`coevolve ${args.join(' ')} exited with code ${code}: ${stderr}`);
  return stdout;
}

async function rows<Row extends QueryResultRow>(sql: string, values: unknown[] = []): Promise<Row[]> {
  return (await stack.pool.query<Row>(sql, values)).rows;
}

/** Waits until a campaign has finished and returns its content. */
async function contentOf(name: CampaignName, run: string): Promise<ContentHash> {
  await waitUntilFinished(`${name}-${run}`, (parked) => {
    throw new Error(`${name}-${run} parked: ${parked}`);
  });
  const [row] = await rows<{ id: number }>(`select id from campaigns where name = $1`, [`${name}-${run}`]);
  expect(await findViolations(stack.pool, row!.id)).toEqual([]);
  return contentHash(stack.pool, row!.id);
}

/** Waits until a campaign has finished and its workflow has closed: the query shows the status before the last write. */
async function waitUntilFinished(name: string, onParked: (reason: string | null) => void): Promise<void> {
  await until(async () => {
    const { status, progress } = await stack.status(name);
    if (status === 'parked') onParked(progress.parked);
    return status === 'finished';
  }, 3_000);
  await stack.client.workflow.getHandle(campaignWorkflowId(name)).result();
}

const hasFired = (failpoint: Failpoint): boolean =>
  existsSync(path.join(stack.bare.home, 'run', failpointFile(failpoint)));

const operated = { ...shared, recipe: 'eto', iterations: 1, rollouts: { attempts: 2, maxTokens: 8 } };

/** Executes the activities of operator commands: pause, resume and skip of one campaign, abort of another in training. */
async function operate(variables: Variables): Promise<void> {
  const [skipping, aborted] = ['skipping-killed', 'aborted-killed'] as const;
  const promotion = { approval: true }; // parks the campaign
  await command(variables, 'start', stack.specFile({ name: skipping, ...operated, promotion, training: brief }));
  await command(
    variables,
    'start',
    stack.specFile({ name: aborted, ...operated, training: { dpo: { epochs: 1000 } } }),
  );
  await command(variables, 'pause', skipping);
  await command(variables, 'resume', skipping);
  await until(async () => {
    const trained = `select from training_runs r join campaigns c on c.id = r.campaign_id
      where r.method = 'dpo' and c.name = $1`;
    return (await rows(trained, [aborted])).length > 0;
  }, 200);
  await command(variables, 'abort', aborted);
  await until(async () => (await stack.status(skipping)).status === 'parked', 2_000);
  await command(variables, 'skip', skipping);
  await waitUntilFinished(skipping, () => undefined);
  expect(
    await rows(`select name, status from campaigns where name = any ($1) order by name`, [[skipping, aborted]]),
  ).toEqual([
    { name: aborted, status: 'aborted' },
    { name: skipping, status: 'finished' },
  ]);
}

testOfAll(
  'campaigns with a kill at every position of every activity have the content of undisturbed ones',
  async () => {
    const variables = { COEVOLVE_FAILPOINT: everyFailpoint.map(failpointName).join(',') };
    await command(variables, 'up');
    await start('killed', variables);
    await operate(variables);
    expect(await scoresOf('killed', variables)).toBe(undisturbedScores);
    for (const name of names) expect(await contentOf(name, 'killed')).toEqual(undisturbed[name]);

    const notReached = everyFailpoint.filter((failpoint) => !hasFired(failpoint)).map(failpointName);
    expect(notReached.sort()).toEqual(Object.keys(unreachable).sort());
  },
);

testOfAll(
  'campaigns with every activity executed twice concurrently have the content of undisturbed ones',
  async () => {
    const variables = { COEVOLVE_DUPLICATE_SHARE: '1' };
    await command(variables, 'up');
    await start('doubled', variables);
    expect(await scoresOf('doubled', variables)).toBe(undisturbedScores);
    for (const name of names) expect(await contentOf(name, 'doubled')).toEqual(undisturbed[name]);
  },
);
