import { findViolations } from '../../src/store/audit/invariants';
import { contentHash } from '../../src/store/audit/content-hash';
import { createStore } from '../../src/store';
import type { SetScore } from '../../src/store/training/set-scores';
import { bringUpStack, hangTimeoutMs, until, type TestStack } from '../support/stack';
import { tasks, tiny } from './small-campaigns';

vi.setConfig({ testTimeout: hangTimeoutMs, hookTimeout: hangTimeoutMs });

let stack: TestStack;
beforeAll(async () => {
  stack = await bringUpStack('several-attempts');
});
afterAll(() => stack?.remove());

const attempts = 3;
const spec = { ...tiny('thrice', 'combined', 1), evaluation: { attempts, temperature: 0.9 } };
const countPlayed = async (id: number): Promise<number> => {
  const { rows } = await stack.pool.query<{ played: number }>(
    `select count(*)::integer as played from trajectories where campaign_id = $1 and purpose in ('evaluation', 'test')`,
    [id],
  );
  return rows[0]!.played;
};

test('several attempts at every held-out task are played once each, also over a kill, and give pass@k', async () => {
  await stack.json('start', stack.specFile(spec));
  const { id } = await createStore(stack.pool).campaigns.getByName('thrice');
  await until(async () => (await countPlayed(id)) > 0);
  process.kill(stack.pidOf('worker-rollout'), 'SIGKILL');
  await stack.json('up');
  await stack.waitForEnd('thrice');

  const { rows } = await stack.pool.query<{ policies: number; tasks: number; seeds: number; played: number }>(
    `select count(distinct policy_id)::integer as policies, count(distinct task_id)::integer as tasks,
       count(distinct (task_id, seed))::integer as seeds, count(*)::integer as played
     from trajectories where campaign_id = $1 and purpose = 'evaluation'`,
    [id],
  );
  const { policies, ...dev } = rows[0]!;
  expect(dev).toEqual({ tasks: 8, seeds: 8 * attempts, played: 8 * attempts * policies });
  expect(policies).toBe(2);
  expect(await findViolations(stack.pool, id)).toEqual([]);

  const { setScores } = await stack.json<{ setScores: SetScore[] }>('status', 'thrice');
  const [score] = setScores.filter(({ feature }) => feature === null);
  expect(score).toMatchObject({ tasks: tasks.heldOut / 2, attempts: attempts * 8 });
  expect(score!.passAt).toHaveLength(attempts);
  expect(score!.passAt[0]).toBeCloseTo(score!.successes / 8, 12);
  expect((await stack.cli('status', 'thrice')).stdout).toMatch(/pass@2 +pass@3/);

  await stack.json('start', stack.specFile({ ...spec, name: 'thrice-again' }));
  await stack.waitForEnd('thrice-again');
  const again = await createStore(stack.pool).campaigns.getByName('thrice-again');
  expect((await contentHash(stack.pool, again.id)).hash).toBe((await contentHash(stack.pool, id)).hash);
});
