import { setTimeout as sleep } from 'node:timers/promises';
import { drawUntilDone } from '../../../src/activities/plan/draw-until-done';
import { environmentData } from '../../../src/envs/server/environment-data';
import { startScriptedServer, type ScriptedServer } from '../../support/scripted-server';
import { inActivity } from '../base/in-activity';

let server: ScriptedServer;
beforeAll(async () => {
  server = await startScriptedServer();
});
afterAll(() => server.stop());

const request = { split: 'train', count: 0, seed: 7, options: {} } as const;
const draw = () => inActivity(() => drawUntilDone(() => environmentData(server).tasks('slow', request)));

test('an incomplete draw is requested again until it is complete', async () => {
  server.answerWith({ status: 504, body: { detail: '20 of 60 gold paths are ready' } });
  const drawn = draw();
  while (server.requests.length < 2) await sleep(10);
  server.answerWith({ body: { tasks: [] } });
  await expect(drawn).resolves.toEqual([]);
  expect(server.requests).toHaveLength(1);
});

test('a failed draw fails the activity, which is retried', async () => {
  server.answerWith({ status: 500, body: { detail: 'draw failed' } });
  await expect(draw()).rejects.toMatchObject({ type: 'EnvironmentError.fault', nonRetryable: false });
  expect(server.requests).toHaveLength(1);
});
