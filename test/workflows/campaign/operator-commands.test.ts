import { setTimeout as sleep } from 'node:timers/promises';
import { WorkflowNotFoundError, WorkflowUpdateFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import * as fc from 'fast-check';
import type { Activities } from '../../../src/activities';
import { campaignCommands } from '../../../src/domain/campaign/operator-commands';
import type { CampaignState } from '../../../src/domain/campaign/progress';
import { isSkippable, phases, type Phase } from '../../../src/domain/campaign/phases';
import { planOf } from '../../../src/specification/iteration-plan';
import { resolveSpec } from '../../../src/specification/read-spec';
import { runsAll } from '../../support/lane';
import { until } from '../../support/stack';
import { environment, nothingSpent, scriptedActivities, type Script } from '../scripted-activities';
import { scriptedCampaigns, type ScriptedCampaigns, type CommandName } from '../scripted-campaigns';

let campaigns: ScriptedCampaigns;
beforeAll(async () => {
  campaigns = await scriptedCampaigns();
});
afterAll(() => campaigns?.remove());

const commandNames = Object.keys(campaignCommands) as CommandName[];
const recipe = 'coevolve'; // its agents and aims are used; the phases are set by each test
const phaseFailed = (): ApplicationFailure =>
  ApplicationFailure.create({ message: 'phase failed', type: 'PhaseFailed', nonRetryable: true });

/** Script of a campaign with `only` these phases; `atBegin` is called when a phase begins, before its work. */
function scriptOf(name: string, only: readonly Phase[], atBegin: (phase: Phase) => Promise<void>): Script {
  const spec = resolveSpec(
    { name, seed: 1, environment: { name: environment }, recipe, rollouts: { stepsPerIteration: 2 } },
    name,
  );
  const committed = new Set<Phase>();
  const changes: Partial<Activities> = {
    openIteration: ({ iteration }) => Promise.resolve({ epoch: 1, ...planOf(spec, iteration), phases: only }),
    async beginPhase({ phase }) {
      if (!committed.has(phase)) await atBegin(phase);
      return committed.has(phase);
    },
    commitPhase({ phase }) {
      committed.add(phase);
      return Promise.resolve({ note: `${phase} done`, spending: nothingSpent });
    },
    skipPhase({ phase }) {
      committed.add(phase);
      return Promise.resolve('skipped');
    },
  };
  return scriptedActivities(name, changes);
}

/** Sends an operator command; returns false if the campaign rejects it or has ended. */
const trySend = (name: string, command: CommandName): Promise<CampaignState | false> =>
  campaigns.send(name, command).catch((error: unknown) => {
    if (error instanceof WorkflowNotFoundError) return false;
    if (error instanceof WorkflowUpdateFailedError && command === 'skip') return false;
    throw error;
  });

/** Phases that check for a pause before each task. */
const phasesWithTasks: readonly Phase[] = ['rollout', 'optimize', 'validate', 'evaluate'];

const closed = (script: Script): unknown[] => script.callsOf('closeCampaign').map(({ status }) => status);

/** Status with which Temporal shows the end of a campaign. */
const closedAs = async (name: string): Promise<string> => (await campaigns.handleOf(name).describe()).status.name;

/** Expects that a campaign ended once and wrote nothing after its end. */
function expectEnded(script: Script, { status, progress }: CampaignState): void {
  expect(closed(script)).toEqual([status]);
  expect(progress.parked === null || status === 'aborted').toBe(true);
  expect(script.calls.at(-1)?.name).toBe('closeCampaign');
  const done = script.callsOf('commitPhase').map(({ iteration, phase }) => `${String(iteration)} ${String(phase)}`);
  expect(done).toEqual([...new Set(done)]);
}

/** One phase that plays tasks, one that waits for jobs, and one that does neither. */
const somePhases: readonly Phase[] = ['rollout', 'pair', 'train'];

describe.each(runsAll ? phases : somePhases)('in phase %s', (phase) => {
  const only: readonly Phase[] = phase === 'report' ? ['report'] : [phase, 'report'];
  const nameOf = (moment: string, command: CommandName): string => `${phase}-${moment}-${command}`;

  test('every command to a running campaign gives the expected status and events', async () => {
    const ends = commandNames.map(async (command) => {
      const name = nameOf('runs', command);
      let sent: Promise<unknown> | undefined;
      const script = scriptOf(name, only, async (begun) => {
        if (sent || begun !== phase) return;
        sent = trySend(name, command).then(() => trySend(name, command)); // a repeated command changes nothing
        await sent;
      });
      await campaigns.start(name, { recipe, iterations: 1, from: 1 }, script);
      if (command === 'pause') {
        await until(() => Promise.resolve(sent));
        await sent;
        // A phase with tasks pauses between them, any other phase ends first.
        if (!phasesWithTasks.includes(phase))
          await until(() => Promise.resolve(script.callsOf('commitPhase').length === 1));
        expect(await campaigns.status(name)).toMatchObject({ status: 'paused', pausedBy: 'ada' });
        expect(script.callsOf('closeCampaign')).toEqual([]);
        await trySend(name, 'resume');
      }
      const state = await campaigns.ended(name);
      expectEnded(script, state);
      const kinds = script.callsOf('recordOperatorCommand').map(({ kind }) => kind);
      return [command, await closedAs(name), state.status, ...kinds];
    });
    expect(await Promise.all(ends)).toEqual([
      ['pause', 'COMPLETED', 'finished', 'paused', 'resumed'],
      ['resume', 'COMPLETED', 'finished'],
      ['retry', 'COMPLETED', 'finished'],
      ['skip', 'COMPLETED', 'finished'],
      ['stop', 'COMPLETED', 'finished', 'stopping'],
      ['abort', 'CANCELLED', 'aborted', 'aborting'],
    ]);
  });

  test('every command to a parked campaign gives the expected status', async () => {
    const ends = commandNames.map(async (command) => {
      const name = nameOf('parked', command);
      let begun = 0;
      const script = scriptOf(name, only, (now) =>
        now === phase && begun++ === 0 ? Promise.reject(phaseFailed()) : Promise.resolve(),
      );
      await campaigns.start(name, { recipe, iterations: 1, from: 1 }, script);
      const before = await campaigns.parked(name);
      expect(before).toMatchObject({ status: 'parked', progress: { phase, parked: 'phase failed' } });
      await until(() => Promise.resolve(script.callsOf('recordOperatorCommand').length === 1));
      const isRejected = (await trySend(name, command)) === false;
      if (command === 'pause' || isRejected) await trySend(name, 'resume');
      const state = await campaigns.ended(name);
      expectEnded(script, state);
      return [command, await closedAs(name), state.status, isRejected, script.callsOf('skipPhase').length];
    });
    const skips = isSkippable(phase, 1);
    expect(await Promise.all(ends)).toEqual([
      ['pause', 'COMPLETED', 'finished', false, 0],
      ['resume', 'COMPLETED', 'finished', false, 0],
      ['retry', 'COMPLETED', 'finished', false, 0],
      ['skip', 'COMPLETED', 'finished', !skips, skips ? 1 : 0],
      ['stop', 'FAILED', 'stopped', false, 0],
      ['abort', 'CANCELLED', 'aborted', false, 0],
    ]);
  });
});

test('training and evaluation of iteration 0 cannot be skipped', async () => {
  const skippable = phases.filter((phase) => isSkippable(phase, 0));
  expect(skippable).toEqual(['optimize', 'detect', 'synthesize', 'validate', 'pair', 'report']);
  const script = scriptOf('first', ['train', 'report'], () => Promise.reject(phaseFailed()));
  await campaigns.start('first', { recipe, iterations: 0 }, script);
  await campaigns.parked('first');
  const rejection = await campaigns.send('first', 'skip').catch((error: WorkflowUpdateFailedError) => error.cause);
  expect(rejection).toMatchObject({
    type: 'NotSkippable',
    message: expect.stringMatching(/needs phase train.*coevolve retry first.*coevolve stop first/),
  });
  await campaigns.send('first', 'abort');
  await campaigns.ended('first');
});

test('a skip of the training phase ends its jobs first and is recorded with its operator, reason and phase', async () => {
  const fails = (): Promise<never> => Promise.reject(phaseFailed());
  const script = scriptedActivities('skipped', { submitTraining: fails });
  const state = await campaigns.run('skipped', { recipe: 'eto', iterations: 1, from: 1 }, script, async () => {
    await campaigns.parked('skipped');
    await campaigns.send('skipped', 'skip', 'no GPU');
  });
  expect(state.status).toBe('finished');
  const names = script.calls.map(({ name }) => name);
  expect(names.indexOf('endTraining')).toBeLessThan(names.indexOf('skipPhase'));
  expect(script.callsOf('endTraining')).toEqual([{ campaignId: 1, iteration: 1 }]);
  expect(script.callsOf('recordOperatorCommand').at(-1)).toMatchObject({
    kind: 'skipped',
    actor: 'ada',
    reason: 'no GPU',
    phase: 'train',
    iteration: 1,
  });
});

test('the cancellation of a workflow in the Temporal UI aborts the campaign', async () => {
  const script = scriptOf('cancelled', ['plan', 'report'], () => Promise.reject(phaseFailed()));
  const handle = await campaigns.start('cancelled', { recipe, iterations: 1, from: 1 }, script);
  await campaigns.parked('cancelled');
  await handle.cancel();
  expect(await campaigns.ended('cancelled')).toMatchObject({
    status: 'aborted',
    abortedBy: 'a cancellation of the workflow',
  });
  expect(await closedAs('cancelled')).toBe('CANCELLED');
  expect(closed(script)).toEqual(['aborted']);
});

test('a campaign that was rebuilt during its abort only ends', async () => {
  const script = scriptedActivities('rebuilt', {});
  const state = await campaigns.run('rebuilt', { recipe, iterations: 1, abortedBy: 'ada' }, script);
  expect(state).toMatchObject({ status: 'aborted', abortedBy: 'ada' });
  expect(script.calls.map(({ name }) => name)).toEqual(['endTraining', 'closeCampaign']);
});

/** Commands at random moments: `at` is the number of begun phases. */
const anyCommands = fc.record({
  commands: fc.array(
    fc.record({ at: fc.nat(14), command: fc.constantFrom(...commandNames.filter((command) => command !== 'abort')) }),
    {
      maxLength: 8,
    },
  ),
  failures: fc.uniqueArray(fc.nat(14), { maxLength: 4 }),
  abort: fc.option(fc.nat(14), { freq: 2 }),
});

test('with random commands and failing phases a campaign ends or parks, and never fails', async () => {
  const cases = fc.sample(anyCommands, { numRuns: runsAll ? 12 : 5, seed: 7 });
  const ends = cases.map(async ({ commands, failures, abort }, number) => {
    const name = `any-${number}`;
    let begun = 0;
    const script = scriptOf(name, phases, async () => {
      const now = begun++;
      for (const { command } of commands.filter(({ at }) => at === now)) await trySend(name, command);
      if (abort === now) await trySend(name, 'abort');
      if (failures.includes(now)) throw phaseFailed();
    });
    await campaigns.start(name, { recipe, iterations: 1, from: 1 }, script);
    const ended = campaigns.ended(name).then((state) => ({ state }));
    for (;;) {
      const pause = sleep(300);
      const end = await Promise.race([ended, pause]);
      if (end) return { script, state: end.state };
      const { status } = await campaigns.status(name);
      if (status === 'parked' || status === 'paused') await trySend(name, 'resume');
    }
  });
  for (const { script, state } of await Promise.all(ends)) {
    expect(['finished', 'stopped', 'aborted']).toContain(state.status);
    expectEnded(script, state);
    const begun = script.callsOf('beginPhase').map(({ phase }) => phases.indexOf(phase as Phase));
    expect(begun).toEqual(begun.toSorted((a, b) => a - b)); // never backwards
    expect(script.callsOf('endTraining').length > 0 || state.status !== 'aborted').toBe(true);
  }
}, 300_000);
