import { ApplicationFailure } from '@temporalio/common';
import { isStale, type IterationProgress } from '../../../src/domain/campaign/progress';
import { taskQueues } from '../../../src/domain/campaign/task-queues';
import { progressSignal } from '../../../src/workflows/temporal/messages';
import { until } from '../../support/stack';
import { environment, scriptedActivities, type Script } from '../scripted-activities';
import { scriptedCampaigns, type ScriptedCampaigns } from '../scripted-campaigns';

let campaigns: ScriptedCampaigns;
beforeAll(async () => {
  campaigns = await scriptedCampaigns();
});
afterAll(() => campaigns?.remove());

const address = 'http://127.0.0.1:9';

/** A failure of a worker that adds the server of the outage. */
const unreachable = (details: unknown[]): ApplicationFailure =>
  ApplicationFailure.create({
    type: 'EnvironmentError.unreachable',
    message: `no environment server answers at ${address}`,
    nonRetryable: true,
    details: ['EnvironmentError.unreachable', ...details],
  });

type Server = { isDown: boolean; asked: number };

/** A campaign whose rollouts need a server. */
function scriptWith(name: string, server: Server, details: unknown[]): Script {
  return scriptedActivities(name, {
    collectRollouts: () =>
      server.isDown ? Promise.reject(unreachable(details)) : Promise.resolve({ attempts: 1, reused: 0 }),
    awaitServer() {
      server.asked++;
      return server.isDown ? Promise.reject(new Error('no answer')) : Promise.resolve();
    },
  });
}

const outage = [{ address, taskQueue: taskQueues.rollout(environment) }];
const plan = { recipe: 'sft', iterations: 0 } as const;
const events = (script: Script) =>
  script.callsOf('recordOperatorCommand').map(({ kind, status, awaits }) => ({ kind, status, awaits }));

test('a campaign that an outage has parked says what it waits for, and continues when the server answers', async () => {
  const server = { isDown: true, asked: 0 };
  const script = scriptWith('outage', server, outage);
  await campaigns.start('outage', plan, script);
  expect(await campaigns.parked('outage')).toMatchObject({ status: 'parked', progress: { awaits: address } });
  await until(() => Promise.resolve(server.asked > 1));
  server.isDown = false;
  expect(await campaigns.ended('outage')).toMatchObject({
    status: 'finished',
    progress: { parked: null, awaits: null },
  });
  expect(events(script)).toEqual([
    { kind: 'parked', status: 'parked', awaits: address },
    { kind: 'continued', status: 'running', awaits: undefined },
  ]);
});

test('an operator ends the wait at once, and a pause outlasts the outage', async () => {
  const server = { isDown: true, asked: 0 };
  const script = scriptWith('decided', server, outage);
  await campaigns.start('decided', plan, script);
  await campaigns.parked('decided');
  await until(() => Promise.resolve(server.asked > 0));
  await campaigns.send('decided', 'retry');
  await until(() => Promise.resolve(script.callsOf('collectRollouts').length > 1));
  await campaigns.parked('decided');
  await campaigns.send('decided', 'pause');
  server.isDown = false;
  const played = script.callsOf('collectRollouts').length;
  const asked = server.asked;
  await until(() => Promise.resolve(server.asked > asked));
  expect(await campaigns.status('decided')).toMatchObject({ status: 'paused' });
  expect(script.callsOf('collectRollouts')).toHaveLength(played);
  await campaigns.send('decided', 'resume');
  expect(await campaigns.ended('decided')).toMatchObject({ status: 'finished' });
});

test.each([
  ['a worker that leaves the decision to an operator', []],
  ['another release', [{ server: address }]],
])('a campaign that failed on %s waits for an operator', async (label, details) => {
  const name = label.replaceAll(' ', '-');
  const server = { isDown: true, asked: 0 };
  const script = scriptWith(name, server, details);
  await campaigns.start(name, plan, script);
  expect((await campaigns.parked(name)).progress.awaits).toBeNull();
  server.isDown = false;
  await campaigns.send(name, 'resume');
  await campaigns.ended(name);
  expect(server.asked).toBe(0);
  expect(events(script).map(({ kind }) => kind)).toEqual(['parked', 'resumed']);
});

test('progress of a run that a reset or an earlier epoch has left behind changes nothing', async () => {
  let play!: () => void;
  const playing = new Promise<void>((resolve) => (play = resolve));
  const script = scriptedActivities('stale', {
    async collectRollouts() {
      await playing;
      return { attempts: 1, reused: 0 };
    },
  });
  await campaigns.start('stale', plan, script);
  await until(() => Promise.resolve(script.callsOf('collectRollouts').length > 0));
  const before = await campaigns.status('stale');
  const left: IterationProgress = { ...before.progress, parked: 'epoch 1 has ended', parkedCode: 'StaleEpoch' };
  for (const sent of [
    { ...left, epoch: 2 },
    { ...left, iteration: 3 },
  ])
    await campaigns.handleOf('stale').signal(progressSignal, sent);
  expect(await campaigns.status('stale')).toEqual(before);
  play();
  await campaigns.ended('stale');
  expect(events(script)).toEqual([]);
});

test.each([
  [{}, { iteration: 1, epoch: 1 }, false],
  [{ epoch: 2 }, { iteration: 1, epoch: 2 }, false],
  [{ epoch: 2 }, { iteration: 1, epoch: 1 }, true],
  [{}, { iteration: 1, epoch: 2 }, true],
  [{}, { iteration: 0, epoch: 1 }, true],
  [{ epoch: 2 }, { iteration: 0 }, false], // of release 0.1.0, which sent no epoch
  [{}, { iteration: 1, epoch: 1, sent: { run: 'a', number: 7 } }, false],
  [{}, { iteration: 1, epoch: 1, sent: { run: 'a', number: 6 } }, true], // of a worker that was suspended
  [{}, { iteration: 1, epoch: 1, sent: { run: 'b', number: 1 } }, false], // after a reset
])('a campaign in iteration 1 with %o takes progress of %o as stale: %s', (state, sent, expected) => {
  const beginning = { iteration: 1, phase: 'rollout', note: null, parked: null, score: null } as const;
  const progress = { ...beginning, sent: { run: 'a', number: 7 } };
  expect(isStale({ ...state, progress }, sent)).toBe(expected);
});
