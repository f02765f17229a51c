import { setTimeout as sleep } from 'node:timers/promises';
import { WorkflowNotFoundError, WorkflowUpdateFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import * as fc from 'fast-check';
import type { Activities } from '../../../src/activities';
import type { CampaignState } from '../../../src/domain/campaign/progress';
import { isSkippable, phases, type Phase } from '../../../src/domain/campaign/phases';
import { planOf } from '../../../src/spec/iteration-plan';
import { resolveSpec } from '../../../src/spec/read-spec';
import { until } from '../../support/stack';
import { environment, scriptedActivities, type Script } from '../scripted-activities';
import { scriptedCampaigns, updates, type ScriptedCampaigns, type Verb } from '../scripted-campaigns';

let campaigns: ScriptedCampaigns;
beforeAll(async () => {
  campaigns = await scriptedCampaigns();
});
afterAll(() => campaigns?.remove());

const verbs = Object.keys(updates) as Verb[];
const recipe = 'coevolve'; // with the agents and aims of a recipe, and every phase that there is
const broken = (): ApplicationFailure =>
  ApplicationFailure.create({ message: 'the string has snapped', type: 'Broken', nonRetryable: true });

/** What a campaign of `only` these phases does; `atBegin` comes when a phase has begun and before its work. */
function scriptOf(name: string, only: readonly Phase[], atBegin: (phase: Phase) => Promise<void>): Script {
  const spec = resolveSpec(
    { name, seed: 1, environment: { name: environment }, recipe, rollouts: { stepsPerIteration: 2 } },
    name,
  );
  const committed = new Set<Phase>();
  const commit = ({ phase }: { phase: Phase }): Promise<string> => {
    committed.add(phase);
    return Promise.resolve(`${phase} done`);
  };
  const changes: Partial<Activities> = {
    openIteration: ({ iteration }) => Promise.resolve({ epoch: 1, ...planOf(spec, iteration), phases: only }),
    async beginPhase({ phase }) {
      if (!committed.has(phase)) await atBegin(phase);
      return committed.has(phase);
    },
    commitPhase: commit,
    skipPhase: commit,
  };
  return scriptedActivities(name, changes);
}

/** An order as an operator gives it; false when the campaign refuses it, or has ended. */
const order = (name: string, verb: Verb): Promise<CampaignState | false> =>
  campaigns.order(name, verb).catch((error: unknown) => {
    if (error instanceof WorkflowNotFoundError) return false;
    if (error instanceof WorkflowUpdateFailedError && verb === 'skip') return false;
    throw error;
  });

/** Phases whose work asks, task by task, whether it may go on. */
const plays: readonly Phase[] = ['rollout', 'optimize', 'validate', 'evaluate'];

const closed = (script: Script): unknown[] => script.callsOf('closeCampaign').map(({ status }) => status);

/** Nothing is written behind the back of a campaign that has ended. */
function expectEnded(script: Script, { status, progress }: CampaignState): void {
  expect(closed(script)).toEqual([status]);
  expect(progress.parked === null || status === 'aborted').toBe(true);
  expect(script.calls.at(-1)?.name).toBe('closeCampaign');
  const done = script.callsOf('commitPhase').map(({ iteration, phase }) => `${String(iteration)} ${String(phase)}`);
  expect(done).toEqual([...new Set(done)]);
}

describe.each(phases)('at %s', (phase) => {
  const only: readonly Phase[] = phase === 'report' ? ['report'] : [phase, 'report'];
  const place = (when: string, verb: Verb): string => `${phase}-${when}-${verb}`;

  test('every order, while it runs', async () => {
    const ends = verbs.map(async (verb) => {
      const name = place('runs', verb);
      let ordered: Promise<unknown> | undefined;
      const script = scriptOf(name, only, async (begun) => {
        if (ordered || begun !== phase) return;
        ordered = order(name, verb).then(() => order(name, verb)); // once more changes nothing
        await ordered;
      });
      const handle = await campaigns.start(name, { recipe, iterations: 1, from: 1 }, script);
      if (verb === 'pause') {
        await until(() => Promise.resolve(ordered));
        await ordered;
        // What plays tasks is held in the middle, any other phase ends.
        if (!plays.includes(phase)) await until(() => Promise.resolve(script.callsOf('commitPhase').length === 1));
        expect(await campaigns.status(name)).toMatchObject({ status: 'paused', pausedBy: 'ada' });
        expect(script.callsOf('closeCampaign')).toEqual([]);
        await order(name, 'resume');
      }
      const state = await handle.result();
      expectEnded(script, state);
      const kinds = script.callsOf('recordOperatorCommand').map(({ kind }) => kind);
      return [verb, state.status, ...kinds];
    });
    expect(await Promise.all(ends)).toEqual([
      ['pause', 'finished', 'paused', 'resumed'],
      ['resume', 'finished'],
      ['retry', 'finished'],
      ['skip', 'finished'],
      ['stop', 'finished', 'stopping'],
      ['abort', 'aborted', 'aborting'],
    ]);
  });

  test('every order, while it is parked', async () => {
    const ends = verbs.map(async (verb) => {
      const name = place('parked', verb);
      let begun = 0;
      const script = scriptOf(name, only, (now) =>
        now === phase && begun++ === 0 ? Promise.reject(broken()) : Promise.resolve(),
      );
      const handle = await campaigns.start(name, { recipe, iterations: 1, from: 1 }, script);
      const before = await campaigns.parked(name);
      expect(before).toMatchObject({ status: 'parked', progress: { phase, parked: 'the string has snapped' } });
      await until(() => Promise.resolve(script.callsOf('recordOperatorCommand').length === 1));
      const refused = (await order(name, verb)) === false;
      if (verb === 'pause' || refused) await order(name, 'resume');
      const state = await handle.result();
      expectEnded(script, state);
      return [verb, state.status, refused, script.callsOf('skipPhase').length];
    });
    const skips = isSkippable(phase, 1);
    expect(await Promise.all(ends)).toEqual([
      ['pause', 'finished', false, 0],
      ['resume', 'finished', false, 0],
      ['retry', 'finished', false, 0],
      ['skip', 'finished', !skips, skips ? 1 : 0],
      ['stop', 'stopped', false, 0],
      ['abort', 'aborted', false, 0],
    ]);
  });
});

test('the start leaves policies that act and how good they are: neither can be skipped there', async () => {
  const skippable = phases.filter((phase) => isSkippable(phase, 0));
  expect(skippable).toEqual(['optimize', 'detect', 'synthesize', 'validate', 'pair', 'report']);
  const script = scriptOf('first', ['train', 'report'], () => Promise.reject(broken()));
  const handle = await campaigns.start('first', { recipe, iterations: 0 }, script);
  await campaigns.parked('first');
  const refusal = await campaigns.order('first', 'skip').catch((error: WorkflowUpdateFailedError) => error.cause);
  expect(refusal).toMatchObject({
    type: 'NotSkippable',
    message: expect.stringMatching(/needs phase train.*coevolve retry first.*coevolve stop first/),
  });
  await campaigns.order('first', 'abort');
  await handle.result();
});

test('a skipped training phase ends its jobs first, and says who skipped what', async () => {
  const fails = (): Promise<never> => Promise.reject(broken());
  const script = scriptedActivities('unkilned', { submitTraining: fails });
  const state = await campaigns.run('unkilned', { recipe: 'eto', iterations: 1, from: 1 }, script, async () => {
    await campaigns.parked('unkilned');
    await campaigns.order('unkilned', 'skip', 'no clay');
  });
  expect(state.status).toBe('finished');
  const last = script.calls.map(({ name }) => name);
  expect(last.indexOf('endTraining')).toBeLessThan(last.indexOf('skipPhase'));
  expect(script.callsOf('endTraining')).toEqual([{ campaignId: 1, iteration: 1 }]);
  expect(script.callsOf('recordOperatorCommand').at(-1)).toMatchObject({
    ...{ kind: 'skipped', actor: 'ada', reason: 'no clay', phase: 'train', iteration: 1 },
  });
});

test('a workflow that is cancelled in the Temporal UI is aborted', async () => {
  const script = scriptOf('cancelled', ['plan', 'report'], () => Promise.reject(broken()));
  const handle = await campaigns.start('cancelled', { recipe, iterations: 1, from: 1 }, script);
  await campaigns.parked('cancelled');
  await handle.cancel();
  expect(await handle.result()).toMatchObject({ status: 'aborted', abortedBy: 'a cancellation of the workflow' });
  expect(closed(script)).toEqual(['aborted']);
});

test('a campaign that was rebuilt while it was being aborted does nothing more than end', async () => {
  const script = scriptedActivities('rebuilt', {});
  const state = await campaigns.run('rebuilt', { recipe, iterations: 1, abortedBy: 'ada' }, script);
  expect(state).toMatchObject({ status: 'aborted', abortedBy: 'ada' });
  expect(script.calls.map(({ name }) => name)).toEqual(['endTraining', 'closeCampaign']);
});

/** Orders at any moments: `at` counts begun phases; those after the last come while the campaign waits. */
const anyOrders = fc.record({
  orders: fc.array(fc.record({ at: fc.nat(14), verb: fc.constantFrom(...verbs.filter((verb) => verb !== 'abort')) }), {
    maxLength: 8,
  }),
  failures: fc.uniqueArray(fc.nat(14), { maxLength: 4 }),
  abort: fc.option(fc.nat(14), { freq: 2 }),
});

test('orders in any order at any moment, while phases fail: a campaign ends or parks, and never fails', async () => {
  const cases = fc.sample(anyOrders, { numRuns: 12, seed: 7 });
  const ends = cases.map(async ({ orders, failures, abort }, number) => {
    const name = `any-${number}`;
    let begun = 0;
    const script = scriptOf(name, phases, async () => {
      const now = begun++;
      for (const { verb } of orders.filter(({ at }) => at === now)) await order(name, verb);
      if (abort === now) await order(name, 'abort');
      if (failures.includes(now)) throw broken();
    });
    const handle = await campaigns.start(name, { recipe, iterations: 1, from: 1 }, script);
    const ended = handle.result().then((state) => ({ state }));
    for (;;) {
      const pause = sleep(300);
      const end = await Promise.race([ended, pause]);
      if (end) return { script, state: end.state };
      const state = await campaigns.status(name);
      if (state.status === 'parked' || state.status === 'paused') await order(name, 'resume');
    }
  });
  for (const { script, state } of await Promise.all(ends)) {
    expect(['finished', 'stopped', 'aborted']).toContain(state.status);
    expectEnded(script, state);
    const begun = script.callsOf('beginPhase').map(({ phase }) => phases.indexOf(phase as Phase));
    expect(begun).toEqual(begun.toSorted((a, b) => a - b)); // never back
    expect(script.callsOf('endTraining').length > 0 || state.status !== 'aborted').toBe(true);
  }
}, 300_000);
