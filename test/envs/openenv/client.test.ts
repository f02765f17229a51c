import { setTimeout as sleep } from 'node:timers/promises';
import { environmentData, type TaskRecord } from '../../../src/envs/server/environment-data';
import type { EnvironmentSession } from '../../../src/envs/contract/environment';
import { openEnvClient } from '../../../src/envs/openenv/client';
import { playEpisode } from '../../../src/envs/episode/play-episode';
import { freePort, startEnvironmentServer, type EnvironmentServer } from '../../support/environment-server';

const name = 'intercode-sql';
const { signal } = new AbortController();
let server: EnvironmentServer;
let tasks: TaskRecord[];
beforeAll(async () => {
  server = await startEnvironmentServer('--capacity', '1');
  tasks = await environmentData(server).tasks(name, { split: 'train', count: 3, seed: 7, options: {} });
});
afterAll(() => server.kill());
afterEach(() => waitUntilSessionsEnd(server));

const resetOf = ({ definition }: TaskRecord) => ({ task: definition, seed: 1, episodeId: 'test' });
const reference =
  ({ reference_actions: actions }: TaskRecord) =>
  (_: unknown, step: number) =>
    Promise.resolve(actions[step] ?? null);

/** Waits until all sessions have ended, which happens shortly after their sockets close. */
async function waitUntilSessionsEnd(of: EnvironmentServer): Promise<void> {
  while ((await of.sessions().catch(() => 0)) > 0) await sleep(20);
}

test('the reference actions of a task have reward 1 in an episode over the network', async () => {
  for (const task of tasks) {
    const session = await openEnvClient(server)(name, { signal });
    const episode = await playEpisode(session, resetOf(task), reference(task), 10);
    session.close();
    await waitUntilSessionsEnd(server);
    expect(episode).toMatchObject({ reward: 1, stopReason: 'completed' });
    expect(episode.opening.some(({ content }) => content.includes(task.goal))).toBe(true);
    expect(episode.turns.map(({ action }) => action)).toEqual(task.reference_actions);
  }
});

test('an episode of nonsense ends at the turn limit with reward 0', async () => {
  const session = await openEnvClient(server)(name, { signal });
  const episode = await playEpisode(session, resetOf(tasks[0]!), () => Promise.resolve('SELECT nonsense'), 2);
  session.close();
  expect(episode).toMatchObject({ reward: 0, stopReason: 'turn-limit' });
  expect(episode.turns).toHaveLength(2);
});

test('a full server causes a capacity error and accepts sessions again after one has ended', async () => {
  const open = openEnvClient(server);
  const first = await open(name, { signal });
  await first.reset(resetOf(tasks[0]!));
  const second = await open(name, { signal });
  await expect(second.reset(resetOf(tasks[0]!))).rejects.toMatchObject({ name: 'EnvironmentError', kind: 'capacity' });
  second.close();
  first.close();
  await waitUntilSessionsEnd(server);
  const third = await open(name, { signal });
  await expect(third.reset(resetOf(tasks[0]!))).resolves.toMatchObject({ done: false });
  third.close();
});

test('a wrong token is rejected by the socket and by the data routes', async () => {
  const wrongToken = { url: server.url, token: 'guessed' };
  await expect(openEnvClient(wrongToken)(name, { signal })).rejects.toMatchObject({
    name: 'EnvironmentError',
    kind: 'rejected',
    message: expect.stringContaining('403'),
  });
  await expect(environmentData(wrongToken).capabilities(name)).rejects.toMatchObject({ kind: 'rejected' });
});

test('an environment that the server does not host is rejected', async () => {
  await expect(openEnvClient(server)('chess', { signal })).rejects.toMatchObject({ kind: 'rejected' });
  await expect(environmentData(server).capabilities('chess')).rejects.toMatchObject({ kind: 'rejected' });
});

test('a task that the environment cannot open is rejected', async () => {
  const session = await openEnvClient(server)(name, { signal });
  await expect(session.reset({ task: { database: 'unknown' }, seed: 1, episodeId: 'x' })).rejects.toMatchObject({
    kind: 'rejected',
  });
  session.close();
});

test('without a server the environment is unreachable, and the message contains the next command', async () => {
  const unreachable = { url: `http://127.0.0.1:${await freePort()}` };
  const expected = {
    kind: 'unreachable',
    message: expect.stringMatching(new RegExp(`${unreachable.url.slice(7)}.*coevolve up`)),
  };
  await expect(openEnvClient(unreachable)(name, { signal })).rejects.toMatchObject(expected);
  await expect(environmentData(unreachable).names()).rejects.toMatchObject(expected);
});

test('an aborted attempt closes its session on the server and throws the reason', async () => {
  const controller = new AbortController();
  const session = await openEnvClient(server)(name, { signal: controller.signal });
  await session.reset(resetOf(tasks[0]!));
  expect(await server.sessions()).toBe(1);
  controller.abort(new Error('the campaign was cancelled'));
  await expect(session.step('SELECT 1')).rejects.toThrow('the campaign was cancelled');
  await waitUntilSessionsEnd(server);
});

test('a server that shuts down is unreachable, and a client that retries continues after the restart', async () => {
  const stopping = await startEnvironmentServer('--drain-s', '0.1');
  const session = await openEnvClient(stopping)(name, { signal });
  await session.reset(resetOf(tasks[0]!));
  await stopping.stop();
  await expect(session.step('SELECT 1')).rejects.toMatchObject({ name: 'EnvironmentError', kind: 'unreachable' });
  session.close();
});

test('requests for the state keep a session open while a policy is slow', async () => {
  const shortTimeout = await startEnvironmentServer('--idle-timeout-s', '0.4');
  const session = await openEnvClient(shortTimeout, { keepAliveMs: 100 })(name, { signal });
  await session.reset(resetOf(tasks[0]!));
  await sleep(1_000);
  await expect(session.step('SELECT 1')).resolves.toMatchObject({ done: false });
  session.close();
  await shortTimeout.kill();
});

test('an attempt that was aborted before its start opens no session', async () => {
  const aborted = AbortSignal.abort(new Error('too late'));
  await expect(openEnvClient(server)(name, { signal: aborted })).rejects.toThrow('too late');
});

test('a server that crashes during an episode causes a fault in this turn and in all later ones', async () => {
  const crashing = await startEnvironmentServer();
  const session: EnvironmentSession = await openEnvClient(crashing)(name, { signal });
  await session.reset(resetOf(tasks[0]!));
  await crashing.kill();
  for (let step = 0; step < 2; step++)
    await expect(session.step('SELECT 1')).rejects.toMatchObject({ name: 'EnvironmentError', kind: 'fault' });
  session.close();
});

describe('the data routes', () => {
  test('the routes list the environments and their capabilities', async () => {
    await expect(environmentData(server).names()).resolves.toEqual([name]);
    await expect(environmentData(server).capabilities(name)).resolves.toMatchObject({ variants: true });
  });

  test('the routes return the same tasks for the same seed, and no held-out task among them', async () => {
    const request = { count: 20, seed: 3, options: {} };
    const train = await environmentData(server).tasks(name, { ...request, split: 'train' });
    const again = await environmentData(server).tasks(name, { ...request, split: 'train' });
    const heldOut = await environmentData(server).tasks(name, { ...request, split: 'held-out' });
    expect(again).toEqual(train);
    const contents = new Set(train.map(({ content_key: key }) => key));
    expect(heldOut.filter(({ content_key: key }) => contents.has(key))).toEqual([]);
  });

  test('the routes return variants with the index of their parent', async () => {
    const variants = await environmentData(server).variants(name, {
      parents: tasks.map(({ definition }) => definition),
      relation: 'neighbour',
      count: 6,
      seed: 1,
      options: {},
    });
    expect(variants.length).toBeGreaterThan(0);
    for (const { parent } of variants) expect([0, 1, 2]).toContain(parent);
  });
});
