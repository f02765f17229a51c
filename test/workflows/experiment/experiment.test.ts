import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { activityNames, type Activities } from '../../../src/activities';
import { cellCampaign, type CellName } from '../../../src/domain/experiment/experiment';
import { isSameCell, type ExperimentState } from '../../../src/domain/experiment/progress';
import type { campaign, experiment } from '../../../src/workflows';
import { campaignUpdates, experimentStatusQuery, experimentUpdates } from '../../../src/workflows/temporal/messages';
import { until } from '../../support/stack';
import { startTemporal, type TestTemporal } from '../../support/temporal';
import { queues, scriptedActivities, stateOf, type Script } from '../scripted-activities';

let temporal: TestTemporal;
let stopWorkers: () => void;
let working: Promise<void>;
const scripts = new Map<string, Script>();
beforeAll(async () => {
  temporal = await startTemporal();
  const stopped = new Promise<void>((resolve) => (stopWorkers = resolve));
  working = temporal.withWorkers(queues, activitiesOfCaller, () => stopped);
});
afterAll(async () => {
  stopWorkers?.();
  await working;
  await temporal?.remove();
});

/** Calls the script of the experiment, whose name begins the names of its campaigns. */
const activitiesOfCaller = Object.fromEntries(
  activityNames.map((name) => [
    name,
    (input: never): unknown => {
      const [, caller] = Context.current().info.workflowExecution!.workflowId.split('/');
      return scripts.get(caller!.split('-')[0]!)!.activities[name as keyof Activities](input);
    },
  ]),
);

const first: CellName = { arm: 'none', seed: 1 };

const stateNamed = (name: string, changes: Partial<ExperimentState> = {}): ExperimentState => ({
  experimentId: 1,
  name,
  arms: ['none', 'signals'].map((arm) => ({ name: arm, matches: null, nondeterminism: [] })),
  seeds: 1,
  futilityLook: null,
  concurrency: 2,
  status: 'running',
  stopped: [],
  stopping: false,
  reason: null,
  revision: 0,
  running: [],
  closed: [],
  ...changes,
});

/**
 * An experiment whose campaigns are workflows with scripted activities. The campaign of the first cell parks until
 * `repair`. A cell ends when its campaign has ended, as in the database. With `limit` only the first arm starts.
 */
function scriptedExperiment(name: string, { limit, ...changes }: Partial<Activities> & { limit?: string } = {}) {
  const workflowId = `experiment/${name}`;
  const campaigns: string[] = []; // the id of a campaign is its position
  const ended = new Set<number>();
  const idOf = (cell: CellName): number => campaigns.indexOf(cellCampaign(name, cell));
  let isRepaired = false;
  const script = scriptedActivities(name, {
    openCell: (cell) => {
      if (limit !== undefined && cell.arm !== first.arm) return Promise.resolve({ outcome: 'limit', reason: limit });
      const campaignName = cellCampaign(name, cell);
      if (!campaigns.includes(campaignName)) campaigns.push(campaignName);
      const state = { ...stateOf(campaignName, 'sft', 0), campaignId: idOf(cell) };
      return Promise.resolve({ outcome: 'play', state, weight: 1 });
    },
    closeCell: (cell) => Promise.resolve(ended.has(idOf(cell)) ? 'finished' : 'running'),
    planIteration: ({ campaignId }) =>
      campaignId === idOf(first) && !isRepaired
        ? Promise.reject(ApplicationFailure.create({ message: 'the service failed', nonRetryable: true }))
        : Promise.resolve(),
    closeCampaign: ({ campaignId }) => Promise.resolve(void ended.add(campaignId)),
    ...changes,
  });
  scripts.set(name, script);
  const handle = temporal.client.workflow.getHandle<typeof experiment>(workflowId);
  const firstCampaign = temporal.client.workflow.getHandle<typeof campaign>(`campaign/${cellCampaign(name, first)}`);
  const isParked = () =>
    until(() => Promise.resolve(script.callsOf('recordOperatorCommand').some(({ kind }) => kind === 'parked')));
  return {
    ...script,
    handle,
    firstCampaign,
    start: (state: Partial<ExperimentState> = {}) =>
      temporal.client.workflow.start<typeof experiment>('experiment', {
        workflowId,
        taskQueue: 'workflow',
        args: [stateNamed(name, state)],
      }),
    /** Waits for a state of the experiment. */
    reached: (isReached: (state: ExperimentState) => boolean): Promise<ExperimentState> =>
      until(async () => {
        const state = await handle.query(experimentStatusQuery);
        return isReached(state) && state;
      }),
    isParked,
    async repair(): Promise<void> {
      await isParked();
      isRepaired = true;
      await firstCampaign.executeUpdate(campaignUpdates.resume, { args: [{ actor: 'ada' }] });
    },
  };
}

test('while a campaign is parked its cell is running, and the other cells are played', async () => {
  const parked = scriptedExperiment('parks');
  await parked.start();
  expect(await parked.reached(({ closed }) => closed.length === 1)).toMatchObject({
    status: 'running',
    running: [first],
  });
  await parked.repair();
  expect(await parked.handle.result()).toMatchObject({ status: 'finished', running: [] });
  expect(parked.callsOf('openCell')).toHaveLength(2);
});

test('a campaign runs on when its experiment is cancelled or terminated, and a later start waits for its end', async () => {
  const left = scriptedExperiment('left');
  await left.start({ concurrency: 1 });
  await left.isParked();
  await left.handle.cancel();
  expect(await left.handle.result()).toMatchObject({ status: 'stopped', reason: 'the workflow was cancelled' });
  await left.start({ concurrency: 1 });
  await left.reached(({ running }) => running.some((cell) => isSameCell(cell, first)));
  await left.handle.terminate();
  expect((await left.firstCampaign.describe()).status.name).toBe('RUNNING');

  const reads = left.callsOf('closeCell').length;
  await left.start({ concurrency: 1 });
  await until(() => Promise.resolve(left.callsOf('closeCell').length > reads)); // of the database: it is not its child
  await left.repair();
  expect(await left.handle.result()).toMatchObject({ status: 'finished' });
  expect(await left.firstCampaign.result()).toMatchObject({ status: 'finished' });
  expect(left.callsOf('closeCampaign')).toHaveLength(2); // each campaign was played once
});

test('a stopped experiment starts no further cell and ends with its running ones', async () => {
  const stopped = scriptedExperiment('stopped');
  await stopped.start({ concurrency: 1 });
  await stopped.isParked();
  await stopped.handle.executeUpdate(experimentUpdates.stop, { args: [{ actor: 'ada' }] });
  await stopped.repair();
  expect(await stopped.handle.result()).toMatchObject({
    status: 'stopped',
    closed: [{ ...first, status: 'finished' }],
  });
  expect(stopped.callsOf('openCell')).toHaveLength(1);
});

test('at a limit no further cell starts, the running ones finish, and the experiment is stopped with the reason', async () => {
  const limited = scriptedExperiment('limited', { limit: 'the limit is $5' });
  await limited.start();
  await limited.reached(({ stopping }) => stopping);
  await limited.repair();
  expect(await limited.handle.result()).toMatchObject({
    status: 'stopped',
    reason: 'the limit is $5',
    closed: [{ ...first, status: 'finished' }],
  });
});

test('a campaign whose policies solve nothing finishes, and so does its cell', async () => {
  const collapsed = scriptedExperiment('collapsed', {
    evaluatePolicy: () => Promise.resolve({ score: 0 }),
    planIteration: () => Promise.resolve(),
  });
  await collapsed.start({ concurrency: 1 });
  expect(await collapsed.handle.result()).toMatchObject({ status: 'finished' });
  expect(await collapsed.firstCampaign.result()).toMatchObject({ status: 'finished', scores: [{ score: 0 }] });
});
