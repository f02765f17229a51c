import { drawSets } from '../../../src/activities/plan/draw-sets';
import type { Dependencies } from '../../../src/activities/context/dependencies';
import type { TaskRecord, TaskRequest } from '../../../src/envs/server/environment-data';
import { resolveSpec } from '../../../src/specification/read-spec';
import { inActivity } from '../context/in-activity';

const specWith = (heldOutTasks: number, sets: Record<string, object>) =>
  resolveSpec(
    {
      name: 'c',
      seed: 1,
      recipe: 'eto',
      environment: { name: 'folds', heldOutTasks },
      evaluation: { sets },
    },
    'c.yaml',
  );

/** An environment with 30 held-out tasks in each of two folds. It returns as many as it has. */
const folds = (requests: TaskRequest[]) =>
  ({
    environmentData: {
      tasks(_: string, request: TaskRequest): Promise<TaskRecord[]> {
        requests.push(request);
        const fold = request.options['held_out'] === 'test' ? 'test' : 'dev';
        return Promise.resolve(Array.from({ length: Math.min(30, request.count) }, (_task, n) => record(fold, n)));
      },
    },
  }) as unknown as Dependencies;

const record = (fold: string, n: number): TaskRecord => ({
  task_id: `${fold}/${n}`,
  goal: `goal ${n}`,
  definition: {},
  features: { pattern: `p${n % 3}`, fold },
  content_key: `${fold}/${n}`,
  reference_actions: [],
});

const draw = (heldOutTasks: number, sets: Record<string, object>, requests: TaskRequest[] = []) =>
  inActivity(() => drawSets(folds(requests), specWith(heldOutTasks, sets), []));

test('dev and test are halves of one draw, and a set of another fold is a draw of its own', async () => {
  const requests: TaskRequest[] = [];
  const sets = await draw(12, { unseen: { tasks: 5, options: { held_out: 'test' } } }, requests);
  expect(requests.map(({ count, options }) => [count, options])).toEqual([
    [12, {}],
    [5, { held_out: 'test' }],
  ]);
  expect(sets.map(({ set, records }) => [set, records.length])).toEqual([
    ['dev', 6],
    ['test', 6],
    ['unseen', 5],
  ]);
  expect(sets[2]!.records.every(({ features }) => features['fold'] === 'test')).toBe(true);
  const all = sets.flatMap(({ records }) => records.map(({ task_id: id }) => id));
  expect(new Set(all).size).toBe(17);
});

test('a set of the same tasks with other options has none of the tasks of the earlier sets', async () => {
  const sets = await draw(20, { seen: { tasks: 10, options: { held_out: 'dev' } } });
  const ids = sets.flatMap(({ records }) => records.map(({ task_id: id }) => id));
  expect(new Set(ids).size).toBe(30);
});

test('too few tasks are reported with the key of their number', async () => {
  await expect(draw(40, {})).rejects.toMatchObject({
    details: ['TooFewTasks'],
    message: expect.stringContaining('environment.heldOutTasks: folds has for dev and test 30'),
  });
  const unseen = { tasks: 31, options: { held_out: 'test' } };
  await expect(draw(10, { unseen })).rejects.toThrow('evaluation.sets.unseen.tasks: folds has for unseen 30 tasks');
  const seen = { tasks: 11, options: { held_out: 'dev' } };
  await expect(draw(20, { seen })).rejects.toThrow('evaluation.sets.seen.tasks: folds has for seen 10 tasks');
});
