import { drawHeldOut } from '../../../src/activities/plan/draw-held-out';
import type { EnvironmentSession, OpenEnvironment } from '../../../src/envs/contract/environment';
import { EnvironmentError } from '../../../src/envs/contract/environment-error';
import type { ThirdPartyServer } from '../../../src/envs/third-party/read-servers';
import { thirdPartyData } from '../../../src/envs/third-party/data';
import { startScriptedServer, type ScriptedServer } from '../../support/scripted-server';
import { inActivity } from '../context/in-activity';

let server: ScriptedServer;
beforeAll(async () => {
  server = await startScriptedServer();
  server.answerWith({ status: 404 }); // it lists no tasks
});
afterAll(() => server.stop());

const request = { count: 10, seed: 7, options: {} };

/** Draws with openings that are a function of the seed. */
async function draw(openingOf: (seed: number) => string) {
  const settings = { name: 'other', endpoint: { url: server.url }, tasks: 20, heldOutTasks: 40, sessions: 4 };
  const data = thirdPartyData(settings as ThirdPartyServer);
  const train = await data.tasks('other', { ...request, split: 'train' });
  let openSessions = 0;
  const openEnvironment: OpenEnvironment = () => {
    openSessions++;
    const reset = ({ task }: { task: Record<string, unknown> }) => {
      const { seed } = task['reset'] as { seed: number };
      if (seed % 10 === 9) return Promise.reject(new EnvironmentError('fault', 'broken'));
      return Promise.resolve({ messages: [{ role: 'user', content: openingOf(seed) }] });
    };
    return Promise.resolve({ reset, close: () => openSessions-- } as unknown as EnvironmentSession);
  };
  const { records: drawn } = await inActivity(() =>
    drawHeldOut({ environmentData: data, openEnvironment }, 'other', { ...request, split: 'held-out' }, train),
  );
  expect(openSessions).toBe(0);
  const seedOf = (id: string): number => Number(/^seed-(\d+)$/.exec(id)![1]);
  return { train: train.map(({ task_id: id }) => seedOf(id)), drawn: drawn.map(({ task_id: id }) => seedOf(id)) };
}

test('held-out seeds that are a world of a train seed are replaced by others', async () => {
  const world = (seed: number): string => `room ${seed % 1_000_000 < 20 ? seed % 1_000_000 : seed}`;
  const { train, drawn } = await draw(world);
  const worlds = new Set(train.filter((seed) => seed % 10 !== 9).map(world));
  expect(drawn.filter((seed) => worlds.has(world(seed)))).toEqual([]);
  expect(drawn).toHaveLength(10);
  expect(new Set(drawn).size).toBe(10);
});

test.each([
  ['every world has its own', String],
  ['no opening identifies a world', () => 'Guess my number.'],
])('the draw is unchanged if %s', async (_, openingOf) => {
  const { drawn } = await draw(openingOf);
  const { drawn: others } = await draw((seed) => `another room ${seed}`);
  expect(drawn).toEqual(others);
});

test('listed held-out tasks that begin as a train task are left out and named', async () => {
  const listed = (split: string, index: number) => ({
    task_id: `${split}-${index}`,
    definition: { reset: { split, index } },
  });
  const tasks = (split: string, count: number) => Array.from({ length: count }, (_, n) => listed(split, n));
  const environmentData = {
    tasks: (_name: string, { count }: { count: number }) => Promise.resolve(tasks('test', Math.min(count, 12))),
    capacity: () => Promise.resolve(4),
  };
  const openEnvironment = () =>
    Promise.resolve({
      reset: ({ task }: { task: { reset: { split: string; index: number } } }) =>
        Promise.resolve({
          messages: [{ content: `${task.reset.index < 6 ? '' : task.reset.split} ${task.reset.index}` }],
        }),
      close: () => undefined,
    });
  const { records, twins } = await inActivity(() =>
    drawHeldOut({ environmentData, openEnvironment } as never, 'other', request as never, tasks('train', 10) as never),
  );
  expect(records.map(({ task_id: id }) => id)).toEqual(['test-6', 'test-7', 'test-8', 'test-9', 'test-10', 'test-11']);
  expect(twins).toHaveLength(6);
  expect(twins[0]).toBe('test-0 begins as train-0');
});

test('too few distinct worlds give a draw with fewer tasks', async () => {
  const { train, drawn } = await draw((seed) => `room ${seed % 20}`);
  expect(train).toHaveLength(10);
  expect(drawn.length).toBeLessThan(10);
});
