import { setTimeout as sleep } from 'node:timers/promises';
import { drawInActivity } from '../../../src/activities/plan/draw-in-activity';
import { environmentData } from '../../../src/envs/server/environment-data';
import { EnvironmentError } from '../../../src/envs/contract/environment-error';
import { drawUntilDone } from '../../../src/envs/server/draw-until-done';
import { startScriptedServer, type ScriptedServer } from '../../support/scripted-server';
import { inActivity } from '../context/in-activity';

let server: ScriptedServer;
beforeAll(async () => {
  server = await startScriptedServer();
});
afterAll(() => server.stop());

const request = { split: 'train', count: 0, seed: 7, options: {} } as const;
const draw = (onHeartbeat?: (details?: unknown) => void) =>
  inActivity(() => drawInActivity(() => environmentData(server).tasks('slow', request)), {
    ...(onHeartbeat && { onHeartbeat }),
  });

test('an incomplete draw is requested again until it is complete', async () => {
  server.answerWith({ status: 202, body: { detail: '20 of 60 gold paths are ready', ready: 20, count: 60 } });
  const heartbeats: unknown[] = [];
  const drawn = draw((details) => heartbeats.push(details));
  while (server.requests.length < 2) await sleep(10);
  server.answerWith({ body: { tasks: [] } });
  await expect(drawn).resolves.toEqual([]);
  expect(server.requests).toHaveLength(1);
  expect(heartbeats[0]).toEqual({ drawn: '20 of 60' });
});

test('a failed draw fails the activity, which is retried', async () => {
  server.answerWith({ status: 500, body: { detail: 'draw failed' } });
  await expect(draw()).rejects.toMatchObject({ type: 'EnvironmentError.fault', nonRetryable: false });
  expect(server.requests).toHaveLength(1);
});

test('a draw continues for as long as it makes progress', async () => {
  const progress: number[] = [];
  const limits = { fullMs: 50, unreachableMs: 0, firstMs: 1, maxMs: 1 };
  let ready = 0;
  const slow = () =>
    ++ready < 5
      ? Promise.reject(new EnvironmentError('unfinished', `${ready} of 5`, { progress: { ready, count: 5 } }))
      : Promise.resolve('tasks');
  const drawn = drawUntilDone(slow, { limits, onProgress: (found) => progress.push(found.ready) });
  await expect(drawn).resolves.toBe('tasks');
  expect(progress).toEqual([1, 2, 3, 4]);
});

test('a cancelled draw stops', async () => {
  const controller = new AbortController();
  const error = new EnvironmentError('unfinished', '1 of 5', { progress: { ready: 1, count: 5 } });
  const drawn = drawUntilDone(() => Promise.reject(error), {
    signal: controller.signal,
    onProgress: () => controller.abort(new Error('cancelled')),
  });
  await expect(drawn).rejects.toThrow('cancelled');
});
