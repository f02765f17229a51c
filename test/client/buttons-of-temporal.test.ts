import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ApplicationFailure } from '@temporalio/common';
import { recordOperatorCommand } from '../../src/activities/campaign/record-operator-command';
import type { Activities } from '../../src/activities';
import { artifactStore } from '../../src/artifacts/artifact-store';
import { listAbandoned } from '../../src/client/reconcile/abandoned-workflows';
import { readCampaignDetails } from '../../src/client/campaign-details';
import { listCampaigns, type ListedCampaign } from '../../src/client/campaign-status';
import type { Connections } from '../../src/client/connections';
import { reconcileCampaign } from '../../src/client/reconcile/reconcile-campaign';
import { findTroubles, noticesOf } from '../../src/client/held-work';
import { sendOperatorCommand } from '../../src/client/send-command';
import { readConfig } from '../../src/config';
import { campaignWorkflowId, iterationWorkflowId } from '../../src/domain/campaign/ids';
import { taskQueues } from '../../src/domain/campaign/task-queues';
import { planOf } from '../../src/specification/iteration-plan';
import { resolveSpec } from '../../src/specification/read-spec';
import { findTemporal } from '../../src/stack/temporal-service';
import { createStore } from '../../src/store';
import { notifyTroubles } from '../../src/workers/watch-campaigns';
import { freshDatabase, type FreshDatabase } from '../support/database';
import { runsAll } from '../support/lane';
import { hangTimeoutMs, until } from '../support/stack';
import { environment, scriptedActivities, type Script } from '../workflows/scripted-activities';
import { scriptedCampaigns, type ScriptedCampaigns } from '../workflows/scripted-campaigns';

vi.setConfig({ testTimeout: hangTimeoutMs, hookTimeout: hangTimeoutMs });

let database: FreshDatabase;
let campaigns: ScriptedCampaigns;
let connections: Connections;
beforeAll(async () => {
  [database, campaigns] = await Promise.all([freshDatabase(), campaignsOnServerWithPauses()]);
  const config = readConfig({});
  connections = {
    config,
    pool: database.pool,
    store: createStore(database.pool),
    artifacts: artifactStore(config.artifacts),
    temporal: () => Promise.resolve(campaigns.client),
  };
});
afterAll(async () => {
  for (const release of releases) release(); // a worker ends after its activities, also those of a failed test
  await campaigns?.remove();
  await database?.drop();
});

/** A server offers the pause of a workflow after a setting, which the embedded server does not have. */
async function campaignsOnServerWithPauses(): Promise<ScriptedCampaigns> {
  const binary = path.join(mkdtempSync(path.join(tmpdir(), 'temporal-with-pauses-')), 'temporal');
  const setting = '--dynamic-config-value frontend.WorkflowPauseEnabled=true';
  writeFileSync(binary, `#!/bin/sh\nexec "${findTemporal(readConfig(process.env))}" "$@" ${setting}\n`, {
    mode: 0o700,
  });
  const before = process.env['COEVOLVE_TEMPORAL_BIN'];
  process.env['COEVOLVE_TEMPORAL_BIN'] = binary;
  try {
    return await scriptedCampaigns();
  } finally {
    if (before === undefined) delete process.env['COEVOLVE_TEMPORAL_BIN'];
    else process.env['COEVOLVE_TEMPORAL_BIN'] = before;
    rmSync(path.dirname(binary), { recursive: true });
  }
}

const recipe = 'eto';
const moments = ['rollout', 'train', 'parked'] as const;
type Moment = (typeof moments)[number];

type Request = Parameters<ScriptedCampaigns['client']['workflowService']['resetWorkflowExecution']>[0];

/** Releases of all held campaigns. */
const releases: (() => void)[] = [];

type Held = {
  name: string;
  proceed(): void;
  /** Fails the attempts of the activities that are held, so that Temporal repeats them. */
  failHeld(): void;
};

const address = 'http://127.0.0.1:9';

/**
 * Starts a campaign that is held at a moment of its iteration 0 until it may proceed.
 *
 * @param broken changes of its workflow's state
 * @param outage of the moment `parked`: it waits for a server
 */
async function begin(
  name: string,
  moment: Moment,
  { broken = {}, outage = false }: { broken?: object; outage?: boolean } = {},
): Promise<Held & { script: Script }> {
  const { store } = connections;
  const spec = resolveSpec({ name, seed: 1, environment: { name: environment }, recipe, iterations: 0 }, name);
  const row = await store.campaigns.save({ name, recipe, environment, spec, specHash: name, seed: 1 });
  await store.iterations.open(row.id, 0);
  let isHeld = true;
  const waiting: { resolve(): void; reject(error: Error): void }[] = [];
  const released = (): Promise<void> =>
    isHeld ? new Promise((resolve, reject) => waiting.push({ resolve, reject })) : Promise.resolve();
  const proceed = (): void => {
    isHeld = false;
    for (const { resolve } of waiting) resolve();
  };
  releases.push(proceed);
  const server = { address, taskQueue: taskQueues.rollout(environment) };
  const details = ['EnvironmentError.unreachable', ...(outage ? [server] : [])];
  const failed = ApplicationFailure.create({ message: 'the phase failed', nonRetryable: true, details });
  const changes: Partial<Activities> = {
    openIteration: ({ iteration, epoch }) => Promise.resolve({ epoch: epoch ?? 1, ...planOf(spec, iteration) }),
    countPlanned: () => Promise.resolve({ tasks: 4, tasksPerActivity: 1 }),
    async collectRollouts() {
      if (moment === 'parked' && isHeld) throw failed;
      if (moment === 'rollout') await released();
      return { attempts: 1, reused: 0 };
    },
    async watchTraining({ jobKey }) {
      if (moment === 'train') await released();
      return { policyId: jobKey.split('/').pop()!.padEnd(64, '0'), seconds: 1 };
    },
    awaitServer: released,
    recordOperatorCommand: recordOperatorCommand({ store }),
    closeCampaign: ({ campaignId, status }) => store.campaigns.setStatus(campaignId, status),
  };
  const script = scriptedActivities(name, changes, { iterations: 0 });
  await campaigns.start(name, { recipe, iterations: 0, campaignId: row.id, ...broken }, script);
  const failHeld = (): void => {
    for (const { reject } of waiting.splice(0)) reject(new Error('the attempt failed'));
  };
  return { name, proceed, failHeld, script };
}

/** Starts a campaign and waits until it is held at a moment of its iteration 0, in four rollouts or in a training job. */
async function heldAt(name: string, moment: Moment, outage = false): Promise<Held & { script: Script }> {
  const held = await begin(name, moment, { outage });
  const { script } = held;
  await until(async () => {
    if (moment === 'parked')
      return (await rowOf(name)).status === 'parked' && (!outage || script.callsOf('awaitServer').length > 0);
    return moment === 'rollout'
      ? script.callsOf('collectRollouts').length === 4
      : script.callsOf('watchTraining').length > 0;
  });
  return held;
}

const rowOf = (name: string) => connections.store.campaigns.getByName(name);

const listed = async (name: string): Promise<ListedCampaign> => {
  const { campaigns: all, unchecked } = await listCampaigns(connections);
  expect(unchecked).toBeNull();
  return all.find((campaign) => campaign.name === name)!;
};

const executionOf = async (workflowId: string) => {
  const { runId } = await campaigns.client.workflow.getHandle(workflowId).describe();
  return { namespace: campaigns.client.options.namespace, workflowExecution: { workflowId, runId } };
};

/** The buttons of the Temporal UI, as requests to the server. */
const buttons = {
  async Reset(workflowId: string) {
    const first = { workflowTaskFinishEventId: 4 } as unknown as Pick<Request, 'workflowTaskFinishEventId'>; // not a Long
    const request = { ...(await executionOf(workflowId)), ...first, reason: 'x', requestId: workflowId };
    await campaigns.client.workflowService.resetWorkflowExecution(request);
  },
  async Terminate(workflowId: string) {
    await campaigns.client.workflow.getHandle(workflowId).terminate('x');
  },
  async Delete(workflowId: string) {
    await campaigns.client.workflowService.deleteWorkflowExecution(await executionOf(workflowId));
    const handle = campaigns.client.workflow.getHandle(workflowId);
    await until(() =>
      handle.describe().then(
        () => false, // terminated first
        () => true,
      ),
    );
  },
  async Cancel(workflowId: string) {
    await campaigns.client.workflow.getHandle(workflowId).cancel();
  },
} as const;

type Button = keyof typeof buttons;

/** All messages to the operators. */
const messages: { campaign: string; status: string; reason: string | null; next: string | null }[] = [];
const notify: Parameters<typeof notifyTroubles>[1] = (campaign, { status, reason, next }) =>
  Promise.resolve(void messages.push({ campaign, status, reason, next }));

const messagesOf = (name: string) => messages.filter(({ campaign }) => campaign === name);

/** Expects the operators to get exactly this message about a campaign, however often it is checked. */
async function expectNotice(name: string, message: { status: string; reason: string; next: string }): Promise<void> {
  const seen = new Set<string>();
  for (let checks = 0; checks < 3; checks++) await notifyTroubles(connections, notify, seen);
  await until(() => Promise.resolve(messagesOf(name).length > 0)); // another test may be about to send it
  expect(messagesOf(name)).toEqual([{ campaign: name, ...message }]);
}

/** Lists campaigns less often than `until`: each list is a request for every campaign that runs. */
const untilListed = <T>(condition: () => Promise<T | false>): Promise<T> => until(condition, 300);

/** Ids of the open workflows of a campaign, which Temporal lists some seconds late. */
async function openWorkflows(name: string): Promise<string[]> {
  const id = campaignWorkflowId(name);
  const query = `ExecutionStatus = "Running" AND WorkflowId STARTS_WITH "${id}"`;
  const ids: string[] = [];
  for await (const { workflowId } of campaigns.client.workflow.list({ query })) ids.push(workflowId);
  return ids.filter((each) => each === id || each.startsWith(`${id}/`));
}

/** Expects list, status and webhook to show that the campaign is lost, and that reconcile ends what runs and continues it. */
async function expectLostAndContinued({ name, proceed }: Held, button: Button): Promise<void> {
  const { problem } = await untilListed(async () => {
    const campaign = await listed(name);
    return campaign.status === 'lost' && campaign;
  });
  expect(problem?.next).toContain(`coevolve reconcile ${name}`);
  expect(await readCampaignDetails(connections, name)).toMatchObject({ status: 'lost', problem });
  await expectNotice(name, { status: 'lost', reason: problem!.what, next: problem!.next });

  const reconciled = await reconcileCampaign(connections, name, false);
  expect(reconciled).toMatchObject({ outcome: 'started', iteration: 0, epoch: 2 });
  if (button === 'Reset') expect(reconciled.abandoned).toBeGreaterThan(0);
  const before = campaigns.client.workflow.getHandle(iterationWorkflowId(name, 0));
  const run = await before.describe().catch(() => null); // deleted
  expect(run?.status.name).not.toBe('RUNNING');
  proceed();
  await campaigns.ended(name);
  expect(await rowOf(name)).toMatchObject({ status: 'finished' });
  expect(await listed(name)).toMatchObject({ status: 'finished', problem: null, held: [] });
  await untilListed(async () => (await openWorkflows(name)).length === 0);
  expect(await listAbandoned(connections, name)).toEqual([]);
}

/** Expects the same words about a pause in list, status, doctor and webhook, and that resume continues the campaign. */
async function expectPausedAndResumed(
  { name, proceed }: Held,
  what: unknown,
  isHeld = (): void => undefined,
): Promise<void> {
  const notice = { what, next: `continue with \`coevolve resume ${name}\`` };
  const { problem } = await untilListed(async () => {
    const campaign = await listed(name);
    const said = campaign.problem ? [campaign.problem] : noticesOf(campaign.held);
    return said.length > 0 && { problem: said };
  });
  expect(problem).toMatchObject([notice]);
  const details = await readCampaignDetails(connections, name);
  expect(details.problem ? [details.problem] : noticesOf(details.pausedWork)).toEqual(problem);
  const [trouble, ...others] = await findTroubles(connections, [await rowOf(name)]); // of doctor
  expect([trouble, others]).toMatchObject([{ campaign: name, status: 'paused', ...notice }, []]);
  await expectNotice(name, { status: 'paused', reason: trouble!.what, next: trouble!.next });

  isHeld();
  const lines: string[] = [];
  await sendOperatorCommand(connections, name, 'resume', { onProgress: (line) => lines.push(line) });
  expect(lines).toEqual([expect.stringMatching(/ paused in Temporal by ada \(lunch\); it continues$/)]);
  expect(await listed(name)).toMatchObject({ problem: null, held: [] });
  proceed();
  await campaigns.ended(name);
  expect(await rowOf(name)).toMatchObject({ status: 'finished' });
}

/** A reset leaves the most behind, so `npm test` resets at every moment, and plays the other buttons at one. */
const playsAll = (moment: Moment): boolean => runsAll || moment === 'rollout';

/** The activity that is held at a moment, and the id of its workflow below the iteration. */
const heldWork = {
  rollout: { activity: 'collectRollouts', below: '/rollout/expert/reference/0' },
  train: { activity: 'watchTraining', below: '/train/base' },
  parked: { activity: 'awaitServer', below: '' }, // after an outage
} as const;

const isCancelled = async (workflowId: string): Promise<boolean> => {
  const { raw } = await campaigns.client.workflow.getHandle(workflowId).describe();
  return raw.workflowExtendedInfo?.cancelRequested ?? false;
};

const pauses = { identity: 'ada', reason: 'lunch' };

async function pauseWorkflow(workflowId: string): Promise<void> {
  const { workflowService, options } = campaigns.client;
  await workflowService.pauseWorkflowExecution({
    namespace: options.namespace,
    workflowId,
    requestId: workflowId,
    ...pauses,
  });
}

/** Pauses the open activities of a type, with the button of each, and returns the id of their workflow. */
async function pauseActivities(workflowId: string, type: string): Promise<void> {
  const { workflowService, options, workflow } = campaigns.client;
  const { raw } = await workflow.getHandle(workflowId).describe();
  for (const { activityId, activityType } of raw.pendingActivities ?? [])
    if (activityType?.name === type)
      await workflowService.pauseActivity({
        namespace: options.namespace,
        execution: { workflowId },
        id: activityId!,
        ...pauses,
      });
}

describe.concurrent.each(moments)('while a campaign is at %s', (moment) => {
  const testOfMoment = playsAll(moment) ? test : test.skip;

  test.each(playsAll(moment) ? (['Reset', 'Terminate', 'Delete'] as const) : (['Reset'] as const))(
    '%s of its workflow shows it as lost everywhere, and reconcile leaves nothing that runs',
    async (button) => {
      const held = await heldAt(`${moment}-${button.toLowerCase()}`, moment);
      await buttons[button](campaignWorkflowId(held.name));
      await expectLostAndContinued(held, button);
    },
  );

  testOfMoment.each(['Terminate', 'Delete', 'Cancel'] as const)(
    '%s of its iteration shows it as lost everywhere, and reconcile continues it',
    async (button) => {
      const held = await heldAt(`${moment}-iteration-${button.toLowerCase()}`, moment);
      await buttons[button](iterationWorkflowId(held.name, 0));
      held.proceed();
      await expectLostAndContinued(held, button);
    },
  );

  (moment === 'parked' ? testOfMoment : test)(
    'Reset of its iteration repeats it, ends what it left running, and the campaign finishes',
    async () => {
      const { name, proceed, script } = await heldAt(`${moment}-iteration-reset`, moment);
      if (moment === 'parked') proceed();
      await buttons.Reset(iterationWorkflowId(name, 0));
      if (moment === 'parked') await campaigns.send(name, 'resume');
      else await until(() => isCancelled(`${iterationWorkflowId(name, 0)}${heldWork[moment].below}`));
      proceed();
      await campaigns.ended(name);
      // The work that the first run left behind is cancelled and played again, not taken as done
      if (moment === 'rollout') expect(script.callsOf('collectRollouts')).toHaveLength(8);
      if (moment === 'train') expect(script.callsOf('watchTraining')).toHaveLength(3); // base twice, target
      expect(await listed(name)).toMatchObject({ status: 'finished', problem: null });
      await untilListed(async () => (await openWorkflows(name)).length === 0);
    },
  );

  test('Pause of its activities is one line in list, status, doctor and webhook, and resume undoes it', async () => {
    const held = await heldAt(`${moment}-paused`, moment, true);
    const { name, script } = held;
    const { activity: type, below } = heldWork[moment];
    const workflowId = `${iterationWorkflowId(name, 0)}${below}`;
    await pauseActivities(workflowId, type);
    held.failHeld();
    const started = script.callsOf(type).length;
    const of = `activity ${type} of ${workflowId}`;
    const what = moment === 'rollout' ? `4 x ${of} were paused` : `${of} was paused`;
    await expectPausedAndResumed(held, `${what} in Temporal by ada (lunch)`, () =>
      expect(script.callsOf(type)).toHaveLength(started),
    );
  });

  testOfMoment.each(['workflow', 'iteration'] as const)(
    'Pause of its %s is shown everywhere, and resume undoes it',
    async (part) => {
      const held = await heldAt(`${moment}-paused-${part}`, moment);
      const id = part === 'workflow' ? campaignWorkflowId(held.name) : iterationWorkflowId(held.name, 0);
      await pauseWorkflow(id);
      const of =
        part === 'workflow'
          ? /^its workflow was paused in Temporal at .* by ada \(lunch\)$/
          : `workflow ${id} was paused in Temporal by ada (lunch)`;
      await expectPausedAndResumed(held, part === 'workflow' ? expect.stringMatching(of) : of);
    },
  );

  testOfMoment('Cancel of its workflow aborts it', async () => {
    const { name, proceed } = await heldAt(`${moment}-cancel`, moment);
    await buttons.Cancel(campaignWorkflowId(name));
    proceed();
    await campaigns.ended(name);
    expect(await listed(name)).toMatchObject({ status: 'aborted', problem: null });
    await untilListed(async () => (await openWorkflows(name)).length === 0);
    expect(await reconcileCampaign(connections, name, false)).toMatchObject({ outcome: 'ended', abandoned: 0 });
  });
});

test('a campaign whose workflow task fails again and again is shown so everywhere, and reconcile --force continues it', async () => {
  const { name, proceed } = await begin('failing', 'rollout', { broken: { scores: null } });
  proceed();
  const { problem } = await untilListed(async () => {
    const campaign = await listed(name);
    return campaign.status === 'failing' && campaign;
  });
  const what = expect.stringMatching(/^its workflow task has failed \d+ times: .*null/);
  expect(problem).toMatchObject({ what, next: expect.stringContaining('coevolve reconcile failing --force') });
  expect(await readCampaignDetails(connections, name)).toMatchObject({ status: 'failing', problem: { what } });
  const seen = new Set<string>();
  await notifyTroubles(connections, notify, seen);
  expect(messagesOf(name)).toEqual([]); // it may just be starting
  await notifyTroubles(connections, notify, seen);
  expect(messagesOf(name)).toMatchObject([{ status: 'failing', reason: what }]);
  expect(await reconcileCampaign(connections, name, false)).toMatchObject({ outcome: 'blocked' });
  expect(await reconcileCampaign(connections, name, true)).toMatchObject({ outcome: 'started', epoch: 2 });
  await campaigns.ended(name);
  expect(await listed(name)).toMatchObject({ status: 'finished', problem: null });
});

test('activities that fail and are repeated are one line of list and status, and no trouble until the campaign parks', async () => {
  const held = await heldAt('repeated', 'rollout');
  const { name, proceed } = held;
  held.failHeld();
  const of = `activity collectRollouts of ${iterationWorkflowId(name, 0)}${heldWork.rollout.below}`;
  const what = `4 x ${of} are repeated after a failure: the attempt failed`;
  const notice = { kind: 'repeated', what, next: expect.stringContaining('coevolve doctor') };
  await untilListed(async () => noticesOf((await listed(name)).held)[0]?.what === what);
  expect(noticesOf((await listed(name)).held)).toMatchObject([notice]);
  const details = await readCampaignDetails(connections, name);
  expect(details).toMatchObject({ status: 'running', problem: null, pausedWork: [], failingWork: [] });
  expect(noticesOf(details.repeatedWork)).toMatchObject([notice]);
  expect(await findTroubles(connections, [await rowOf(name)])).toEqual([]);
  proceed();
  await campaigns.ended(name);
  expect(await listed(name)).toMatchObject({ status: 'finished', held: [] });
});
