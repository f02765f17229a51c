import type { QueryResultRow } from 'pg';
import { findProcess } from '../../src/process/processes';
import { testOfAll } from '../support/lane';
import { bringUpStack, hangTimeoutMs, until, type TestStack } from '../support/stack';
import { artifactStore } from '../../src/artifacts/artifact-store';

vi.setConfig({ testTimeout: hangTimeoutMs, hookTimeout: hangTimeoutMs });

const steps = 3;
const tasksPerStep = 4;
const attempts = 4;
const growthCap = 6;
const base = {
  seed: 13,
  environment: {
    name: 'intercode-sql',
    options: { databases: ['pets_1', 'poker_player'], max_difficulty: 2 },
    trainTasks: 60,
    heldOutTasks: 30,
    maxTurns: 4,
  },
  iterations: 2,
  rollouts: { attempts, maxTokens: 64, tasksPerStep, stepsPerIteration: steps },
  synthesis: { initialTasks: 12, candidatesPerSignal: 20, growthCap },
  signals: { rare: { minTotal: 2, thetaPercent: 50, among: 'all', measure: 'share' } }, // otherwise few tasks are flagged
  training: { sft: { epochs: 16 }, grpo: { learningRate: 3e-4 }, ppo: { learningRate: 3e-4 } },
};

let stack: TestStack;
beforeAll(async () => {
  stack = await bringUpStack('reinforcement');
  await stack.json('start', stack.specFile({ ...base, name: 'signals', recipe: 'coevolve' }));
  await killTrainerIn('signals', 1, 2); // one update is committed, the second runs or is awaited
  const synthesis = { ...base.synthesis, aims: 'random', match: 'signals' };
  await stack.waitForEnd('signals');
  await stack.json('start', stack.specFile({ ...base, name: 'control', recipe: 'coevolve', synthesis }));
  await stack.json('start', stack.specFile({ ...base, name: 'values', recipe: 'ppo', iterations: 1, synthesis: {} }));
  for (const name of ['control', 'values']) await stack.waitForEnd(name);
});
afterAll(() => stack?.remove());

/** Kills the trainer of an iteration before update `update` is stored. */
async function killTrainerIn(name: string, iteration: number, update: number): Promise<void> {
  const jobKey = `campaign/${name}/iteration/${iteration}/train/target`;
  const trainer = await until(async () => {
    const [row] = await rows<{ n: number }>(`select count(policy_id)::integer as n from rl_steps
      where job_key = '${jobKey}'`);
    if (row!.n >= steps) throw new Error(`all ${steps} updates are stored: the trainer was not killed`);
    return row!.n >= update - 1 && findProcess(artifactStore(stack.config.artifacts).jobPath(jobKey), 'trainer');
  });
  process.kill(trainer.pid, 'SIGKILL');
}

async function rows<Row extends QueryResultRow>(sql: string): Promise<Row[]> {
  return (await stack.pool.query<Row>(sql)).rows;
}

testOfAll('every iteration makes F updates, each from K new attempts at every task of its batch', async () => {
  const batches = await rows<{ n: number; parents: number; attempts: number }>(
    `select count(*)::integer as attempts, count(distinct t.policy_id)::integer as policies,
       count(distinct t.task_id)::integer as tasks
     from training_examples e join trajectories t on t.campaign_id = e.campaign_id and t.id = e.trajectory_id
     where e.step is not null group by e.job_key, e.step`,
  );
  expect(batches).toHaveLength(steps * (2 + 2 + 1));
  for (const batch of batches)
    expect(batch).toEqual({ attempts: tasksPerStep * attempts, policies: 1, tasks: tasksPerStep });
});

testOfAll('the policy of the previous step plays the attempts of a step', async () => {
  const ofOtherPolicies = await rows(
    `select e.job_key, e.step from training_examples e
     join training_runs r on r.job_key = e.job_key
     join trajectories t on t.campaign_id = e.campaign_id and t.id = e.trajectory_id
     left join rl_steps before on before.job_key = e.job_key and before.step = e.step - 1
     where e.step is not null and t.policy_id <> coalesce(before.policy_id, r.base_policy)`,
  );
  expect(ofOtherPolicies).toEqual([]);
});

testOfAll('policies form one chain from the start to the end, also across the killed trainer', async () => {
  const chain = await rows<{ iteration: number; step: number | null; follows: boolean }>(
    `select p.iteration, p.step,
       p.parent_id = lag(p.id) over (order by p.iteration, p.step nulls first) as follows
     from policies p join campaigns c on c.id = p.campaign_id
     where c.name = 'signals' and p.role = 'target' order by p.iteration, p.step nulls first`,
  );
  const played = await rows<{ name: string; updates: number; mixed: boolean }>(
    `select r.iteration || '.' || s.step as name, (s.metrics ->> 'updates')::integer as updates, bool_or(g.mixed) as mixed
     from rl_steps s join training_runs r on r.job_key = s.job_key join campaigns c on c.id = r.campaign_id
     join lateral (
       select min(t.reward) < max(t.reward) as mixed from training_examples e
       join trajectories t on t.campaign_id = e.campaign_id and t.id = e.trajectory_id
       where e.job_key = s.job_key and e.step = s.step group by t.task_id) g on true
     where c.name = 'signals' group by r.iteration, s.step, s.metrics order by r.iteration, s.step`,
  );
  expect(played).toHaveLength(2 * steps);
  for (const { updates, mixed } of played) expect(updates).toBe(mixed ? 1 : 0); // equal rewards train nothing
  const updated = played.filter(({ updates }) => updates > 0).map(({ name }) => name);
  expect(chain.map(({ iteration, step }) => `${iteration}.${step ?? 0}`)).toEqual(['0.0', ...updated]);
  expect(updated.length).toBeGreaterThan(0);
  expect(chain.slice(1).every(({ follows }) => follows)).toBe(true);
});

testOfAll('the policy server and the trainer compute the same log-probabilities of sampled tokens', async () => {
  const gaps = await rows<{ gap: number }>(`select (metrics ->> 'logp_gap')::float8 as gap from rl_steps`);
  expect(Math.max(...gaps.map(({ gap }) => gap))).toBeLessThan(1e-4);
});

testOfAll('a later iteration continues with the optimizer state of the previous one', async () => {
  const runs = await rows<{ continued: boolean }>(
    `select later.initial_state ->> 'sha256' = earlier.final_state ->> 'sha256' as continued
     from training_runs later join training_runs earlier
       on earlier.campaign_id = later.campaign_id and earlier.iteration = later.iteration - 1
     where later.method = 'grpo' and later.iteration = 2`,
  );
  expect(runs).toEqual([{ continued: true }, { continued: true }]);
});

testOfAll('coevolve and its control train on no seed task', async () => {
  const seedTasks = await rows(
    `select distinct k.origin from planned_tasks p
     join tasks k on k.campaign_id = p.campaign_id and k.id = p.task_id
     join campaigns c on c.id = p.campaign_id
     where c.recipe <> 'ppo' and p.purpose = 'train' and k.origin = 'seed'`,
  );
  expect(seedTasks).toEqual([]);
});

testOfAll(
  'coevolve and its control differ only in the signals: tasks, attempts and updates are equal in number',
  async () => {
    const { differences, effort, evaluationSet, pairs } = await stack.json<Comparison>('compare', 'signals', 'control');
    expect(differences.map(({ key }) => key)).toEqual(['name', 'synthesis.aims', 'synthesis.match']);
    const spent = effort.map((iterations) =>
      iterations.map(({ iteration, admitted, attempts: played, updates }) => ({
        iteration,
        admitted,
        played,
        updates,
      })),
    );
    expect(spent[0]).toEqual(spent[1]);
    expect(spent[0]!.slice(1)).toMatchObject(
      [1, 2].map(() => ({ played: steps * tasksPerStep * attempts, updates: steps })),
    );
    const grown = spent[0]!.slice(1).reduce((sum, { admitted }) => sum + admitted, 0);
    expect(grown).toBeGreaterThan(0);
    expect(evaluationSet).toBe('test');
    expect(pairs).toMatchObject([{ tasks: 15, played: [15, 15], tests: { mcnemarP: expect.any(Number) } }]);
    const aimed = await rows<{ name: string; signalled: number }>(
      `select c.name, count(t.parent_signal_id)::integer as signalled from tasks t join campaigns c on c.id = t.campaign_id
     where t.created_iteration > 0 and t.verdict = 'admitted' group by c.name order by c.name`,
    );
    expect(aimed).toEqual([
      { name: 'control', signalled: 0 },
      { name: 'signals', signalled: grown },
    ]);
  },
);

type Effort = { iteration: number; admitted: number; attempts: number; updates: number };
type Comparison = {
  differences: { key: string }[];
  effort: Effort[][];
  evaluationSet: string;
  pairs: object[];
};
