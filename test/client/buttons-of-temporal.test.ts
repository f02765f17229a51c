import { ApplicationFailure } from '@temporalio/common';
import { recordOperatorCommand } from '../../src/activities/campaign/record-operator-command';
import type { Activities } from '../../src/activities';
import { artifactStore } from '../../src/artifacts/artifact-store';
import { listAbandoned } from '../../src/client/reconcile/abandoned-workflows';
import { listCampaigns, readCampaignDetails, type ListedCampaign } from '../../src/client/campaign-status';
import type { Connections } from '../../src/client/connections';
import { reconcileCampaign } from '../../src/client/reconcile/reconcile-campaign';
import { readConfig } from '../../src/config';
import { campaignWorkflowId, iterationWorkflowId } from '../../src/domain/campaign/ids';
import { planOf } from '../../src/specification/iteration-plan';
import { resolveSpec } from '../../src/specification/read-spec';
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
  [database, campaigns] = await Promise.all([freshDatabase(), scriptedCampaigns()]);
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

const recipe = 'eto';
const moments = ['rollout', 'train', 'parked'] as const;
type Moment = (typeof moments)[number];

type Request = Parameters<ScriptedCampaigns['client']['workflowService']['resetWorkflowExecution']>[0];

/** Releases of all held campaigns. */
const releases: (() => void)[] = [];

type Held = { name: string; proceed(): void };

/**
 * Starts a campaign that is held at a moment of its iteration 0 until it may proceed.
 *
 * @param broken changes of its workflow's state
 */
async function begin(name: string, moment: Moment, broken: object = {}): Promise<Held & { script: Script }> {
  const { store } = connections;
  const spec = resolveSpec({ name, seed: 1, environment: { name: environment }, recipe, iterations: 0 }, name);
  const row = await store.campaigns.save({ name, recipe, environment, spec, specHash: name, seed: 1 });
  await store.iterations.open(row.id, 0);
  let proceed!: () => void;
  let isHeld = true;
  const released = new Promise<void>((resolve) => {
    proceed = () => {
      isHeld = false;
      resolve();
    };
  });
  releases.push(proceed);
  const failed = ApplicationFailure.create({ message: 'the phase failed', nonRetryable: true });
  const changes: Partial<Activities> = {
    openIteration: ({ iteration, epoch }) => Promise.resolve({ epoch: epoch ?? 1, ...planOf(spec, iteration) }),
    async collectRollouts() {
      if (moment === 'parked' && isHeld) throw failed;
      if (moment === 'rollout') await released;
      return { attempts: 1, reused: 0 };
    },
    async watchTraining({ jobKey }) {
      if (moment === 'train') await released;
      return { policyId: jobKey.split('/').pop()!.padEnd(64, '0'), seconds: 1 };
    },
    recordOperatorCommand: recordOperatorCommand({ store }),
    closeCampaign: ({ campaignId, status }) => store.campaigns.setStatus(campaignId, status),
  };
  const script = scriptedActivities(name, changes, { iterations: 0 });
  await campaigns.start(name, { recipe, iterations: 0, campaignId: row.id, ...broken }, script);
  return { name, proceed, script };
}

/** Starts a campaign and waits until it is held at a moment of its iteration 0. */
async function heldAt(name: string, moment: Moment): Promise<Held> {
  const { script, ...held } = await begin(name, moment);
  const waiting = moment === 'rollout' ? 'collectRollouts' : 'watchTraining';
  await until(async () =>
    moment === 'parked' ? (await rowOf(name)).status === 'parked' : script.callsOf(waiting).length > 0,
  );
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
  const { problem } = await until(async () => {
    const campaign = await listed(name);
    return campaign.status === 'lost' && campaign;
  });
  expect(problem?.next).toContain(`coevolve reconcile ${name}`);
  expect(await readCampaignDetails(connections, name)).toMatchObject({ status: 'lost', problem });
  const seen = new Set<string>();
  await notifyTroubles(connections, notify, seen);
  expect(messages.filter(({ campaign }) => campaign === name)).toEqual([]); // it may just be starting
  await notifyTroubles(connections, notify, seen);
  await notifyTroubles(connections, notify, seen);
  const sent = await until(() =>
    Promise.resolve(messages.filter(({ campaign }) => campaign === name).length > 0 && messages),
  );
  const message = { status: 'lost', reason: problem!.what, next: problem!.next };
  expect(sent.filter(({ campaign }) => campaign === name)).toEqual([{ campaign: name, ...message }]);

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
  await until(async () => (await openWorkflows(name)).length === 0);
  expect(await listAbandoned(connections, name)).toEqual([]);
}

/** A reset leaves the most behind, so `npm test` resets at every moment, and plays the other buttons at one. */
const playsAll = (moment: Moment): boolean => runsAll || moment === 'rollout';

describe.each(moments)('while a campaign is at %s', (moment) => {
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

  testOfMoment('Reset of its iteration repeats it, and the campaign finishes', async () => {
    const { name, proceed } = await heldAt(`${moment}-iteration-reset`, moment);
    proceed();
    await buttons.Reset(iterationWorkflowId(name, 0));
    if (moment === 'parked') await campaigns.send(name, 'resume');
    await campaigns.ended(name);
    expect(await listed(name)).toMatchObject({ status: 'finished', problem: null });
    await until(async () => (await openWorkflows(name)).length === 0);
  });

  testOfMoment('Cancel of its workflow aborts it', async () => {
    const { name, proceed } = await heldAt(`${moment}-cancel`, moment);
    await buttons.Cancel(campaignWorkflowId(name));
    proceed();
    await campaigns.ended(name);
    expect(await listed(name)).toMatchObject({ status: 'aborted', problem: null });
    await until(async () => (await openWorkflows(name)).length === 0);
    expect(await reconcileCampaign(connections, name, false)).toMatchObject({ outcome: 'ended', abandoned: 0 });
  });
});

test('a campaign whose workflow task fails again and again is shown so everywhere, and reconcile --force continues it', async () => {
  const { name, proceed } = await begin('failing', 'rollout', { scores: null });
  proceed();
  const { problem } = await until(async () => {
    const campaign = await listed(name);
    return campaign.status === 'failing' && campaign;
  }, 500);
  const what = expect.stringMatching(/^its workflow task has failed \d+ times: .*null/);
  expect(problem).toMatchObject({ what, next: expect.stringContaining('coevolve reconcile failing --force') });
  expect(await readCampaignDetails(connections, name)).toMatchObject({ status: 'failing', problem: { what } });
  const seen = new Set<string>();
  for (let checks = 0; checks < 2; checks++) await notifyTroubles(connections, notify, seen);
  expect(messages.filter(({ campaign }) => campaign === name)).toMatchObject([{ status: 'failing', reason: what }]);
  expect(await reconcileCampaign(connections, name, false)).toMatchObject({ outcome: 'blocked' });
  expect(await reconcileCampaign(connections, name, true)).toMatchObject({ outcome: 'started', epoch: 2 });
  await campaigns.ended(name);
  expect(await listed(name)).toMatchObject({ status: 'finished', problem: null });
});
