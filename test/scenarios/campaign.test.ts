import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { QueryResultRow } from 'pg';
import { Worker } from '@temporalio/worker';
import { pairedBootstrap, wilsonInterval } from '../../src/domain/evaluation/statistics';
import { deriveSeed } from '../../src/domain/random/seed-tree';
import { dataConverterOf } from '../../src/temporal/connect';
import { payloadLimitBytes } from '../../src/temporal/payload-limit';
import { historiesOf, payloadsOf, type RecordedRun } from '../support/histories';
import { silenceWorkers } from '../support/temporal';
import { readReadyFile } from '../../src/process/ready-file';
import { bringUpStack, hangTimeoutMs, until, type TestStack } from '../support/stack';

vi.setConfig({ testTimeout: hangTimeoutMs, hookTimeout: hangTimeoutMs });

const name = 'disturbed';
const attempts = 3;
const spec = {
  name,
  seed: 11,
  environment: {
    name: 'intercode-sql',
    options: { databases: ['pets_1', 'poker_player'], max_difficulty: 2 },
    trainTasks: 60,
    heldOutTasks: 30,
    maxTurns: 4,
  },
  recipe: 'combined',
  iterations: 2,
  rollouts: { attempts },
  synthesis: { candidatesPerSignal: 12 },
  pairs: { target: { 'expert-target': { maxPairs: 60 }, 'expert-failure': { maxPairs: 60 } } },
  training: { sft: { epochs: 16 }, dpo: { epochs: 1 }, target: { epochs: 1 } },
};

const notCompleted = `CampaignName = "${name}" and ExecutionStatus not in ("Completed", "ContinuedAsNew")`;

let stack: TestStack;
let runs: RecordedRun[];
/** Training attempts of iteration 1 that were stored when the worker was killed. */
let storedAtKill = 0;

beforeAll(async () => {
  await silenceWorkers();
  stack = await bringUpStack('campaign');
  await stack.json('start', stack.specFile(spec));
  storedAtKill = await until(async () => {
    const [row] = await rows<{ n: number }>(`select count(*)::integer as n from trajectories where iteration = 1`);
    return row!.n >= 16 && row!.n;
  });
  process.kill(stack.pidOf('worker-rollout'), 'SIGKILL');
  await stack.json('up');
  await stack.waitForEnd(name);
  await until(async () => (await stack.client.workflow.count(notCompleted)).count === 0); // the visibility store lags
  runs = await historiesOf(stack.client, name);
});
afterAll(() => stack?.remove());

type Played = { purpose: string; attempts: number; tasks: number; slots: number; planned: number };

async function rows<Row extends QueryResultRow>(sql: string): Promise<Row[]> {
  return (await stack.pool.query<Row>(sql)).rows;
}

/** Expects no rows of a query that selects violations. */
async function expectNone(sql: string): Promise<void> {
  expect(await rows(sql)).toEqual([]);
}

const sha256 = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex');
const policyFile = (id: string, file: string): string => path.join(stack.config.artifacts, 'policies', id, file);

describe('a campaign whose rollout worker was killed in an iteration', () => {
  test('finishes and commits every phase of every iteration once', async () => {
    const phasesPerIteration = await rows(
      `select iteration, count(*)::integer as phases, count(finished_at)::integer as committed
       from phases group by iteration order by iteration`,
    );
    expect(phasesPerIteration).toEqual([
      { iteration: 0, phases: 5, committed: 5 },
      { iteration: 1, phases: 9, committed: 9 },
      { iteration: 2, phases: 9, committed: 9 },
    ]);
    expect(await rows(`select status from campaigns`)).toEqual([{ status: 'finished' }]);
  });

  test('loses and duplicates no attempt: tasks x K per iteration and policy', async () => {
    const played = await rows<Played>(
      `select t.iteration, t.purpose, t.policy_id as policy, count(*)::integer as attempts,
         count(distinct t.task_id)::integer as tasks, count(distinct (t.task_id, t.attempt))::integer as slots,
         (select count(*)::integer from planned_tasks p
          where p.campaign_id = t.campaign_id and p.iteration = t.iteration and p.purpose = t.purpose) as planned
       from trajectories t group by t.campaign_id, t.iteration, t.purpose, t.policy_id`,
    );
    for (const { planned, ...row } of played) {
      const all = planned * (row.purpose === 'train' ? attempts : 1);
      expect(row).toEqual({ ...row, tasks: planned, attempts: all, slots: all });
    }
    expect(played.filter(({ purpose }) => purpose === 'train')).toHaveLength(4); // two agents, two iterations
    expect(storedAtKill).toBeLessThan(spec.environment.trainTasks * attempts * 2);
    await expectNone(`select from turn_journal`); // the turns of stored attempts are deleted
  });

  test('plays both agents on the pool of the iteration start; admitted tasks follow in the next iteration', async () => {
    const planned = await rows(
      `select p.iteration, count(*)::integer as planned,
         (select count(*)::integer from tasks t where t.split = 'train' and t.verdict = 'admitted'
           and t.created_iteration < p.iteration) as pool
       from planned_tasks p where p.purpose = 'train' group by p.iteration order by p.iteration`,
    );
    expect(planned.map(({ planned: n, pool }) => n - pool)).toEqual([0, 0]);
    expect(planned[0]).toMatchObject({ planned: spec.environment.trainTasks });
    await expectNone(
      `select from trajectories a join trajectories b using (iteration, purpose, task_id, attempt, seed)
       where a.purpose = 'train' and a.policy_id <> b.policy_id`, // with equal seeds, two agents fail alike
    );
  });

  test('stores no reward for a fault and no fault for a scored attempt', async () => {
    await expectNone(
      `select id from trajectories
       where (outcome = 'scored') <> (reward is not null) or (outcome = 'scored' and fault is not null)`,
    );
  });

  test('stores the sampled token ids of every action of a policy', async () => {
    await expectNone(
      `select s.trajectory_id, s.ordinal from trajectory_turns s join trajectories t on t.id = s.trajectory_id
       where t.policy_id is not null and (cardinality(s.prompt_token_ids) = 0 or cardinality(s.token_ids) = 0
         or cardinality(s.logprobs) is distinct from cardinality(s.token_ids) or s.token_ids is null)`,
    );
    await expectNone(
      `select t.id from trajectories t
       where t.turn_count <> (select count(*) from trajectory_turns s where s.trajectory_id = t.id)`,
    );
  });
});

describe('the training data of the campaign', () => {
  test('signals belong to training attempts of the same iteration and task', async () => {
    expect(await rows(`select from feedback_signals limit 1`)).toHaveLength(1);
    await expectNone(
      `select s.id from feedback_signals s join trajectories t on t.id = s.trajectory_id
       where t.iteration <> s.iteration or t.task_id <> s.task_id or t.purpose <> 'train' or t.outcome <> 'scored'`,
    );
  });

  test('every pair prefers the better of two attempts at the same task', async () => {
    const pairs = await rows(
      `select for_role from preference_pairs where iteration = 1 group by for_role order by for_role`,
    );
    expect(pairs.map(({ for_role: role }) => role)).toContain('target');
    await expectNone(
      `select p.id from preference_pairs p
       join trajectories c on c.id = p.chosen_id join trajectories r on r.id = p.rejected_id
       where c.task_id <> p.task_id or r.task_id <> p.task_id or c.reward <= r.reward
         or c.reward <> p.chosen_reward or r.reward <> p.rejected_reward
         or r.iteration <> p.iteration or r.purpose <> 'train' or (c.purpose = 'train' and c.iteration <> p.iteration)`,
    );
  });

  test('synthesized tasks are admitted only if their reference actions scored 1 in a new session', async () => {
    expect(await rows(`select from tasks where origin = 'synthesized'`)).not.toHaveLength(0);
    await expectNone(
      `select k.id from tasks k
       left join trajectories t on t.task_id = k.id and t.purpose = 'validation' and t.iteration = k.created_iteration
       where k.origin = 'synthesized'
         and (t.id is null or k.verdict = 'candidate' or (k.verdict = 'admitted' and t.reward is distinct from 1))`,
    );
    await expectNone(
      `select k.id from tasks k left join feedback_signals s on s.id = k.parent_signal_id
       where k.origin = 'synthesized' and (s.id is null or s.iteration <> k.created_iteration
         or (s.kind <> 'rare' and s.task_id <> k.parent_task_id) or k.id not like 'synthesized/' || s.iteration || '/' || s.kind || '/%')`,
    );
    await expectNone(
      `select k.id from tasks k where k.origin = 'synthesized' and not exists (select from trajectories t
         where t.task_id = k.parent_task_id and t.iteration = k.created_iteration and t.purpose = 'train')`, // decision 73
    );
  });

  test('the pool has no equal tasks, held-out ones included', async () => {
    await expectNone(
      `select content_key from tasks where verdict = 'admitted' group by content_key having count(*) > 1`,
    );
    const splits = await rows(
      `select split, count(*)::integer as n from tasks where origin = 'seed' group by split order by split`,
    );
    expect(splits).toEqual([
      { split: 'held-out', n: spec.environment.heldOutTasks },
      { split: 'train', n: spec.environment.trainTasks },
    ]);
    await expectNone(
      `select t.id from trajectories t join tasks k on k.id = t.task_id
       where k.evaluation_set is distinct from case t.purpose when 'evaluation' then 'dev' when 'test' then 'test' end`,
    );
  });
});

type Traced = { policy: string; rows: number; traced: number };

describe('the policies of the campaign', () => {
  test('every policy traces to its run, examples, trajectories, tasks and signals', async () => {
    const traced = await rows<Traced>(
      `select p.id as policy, p.parent_id is not distinct from r.base_policy as parent, r.policy_id = p.id as made,
         r.dataset_rows as rows, r.status,
         (select count(*)::integer from training_examples e
          left join preference_pairs pair on pair.id = e.pair_id
          join trajectories t on t.id = coalesce(e.trajectory_id, pair.chosen_id)
          join tasks k on k.id = t.task_id
          left join feedback_signals s on s.id = k.parent_signal_id
          where e.job_key = r.job_key and (k.origin = 'seed' or s.id is not null)
            and (pair.id is null or (pair.for_role = p.role and pair.iteration = p.iteration))) as traced
       from policies p join training_runs r on r.job_key = p.training_run`,
    );
    expect(traced.length).toBeGreaterThanOrEqual(5); // base, two starts, two agents in iteration 1
    for (const row of traced) {
      expect(row).toMatchObject({ parent: true, made: true, status: 'succeeded', traced: row.rows });
      const lineage = await stack.json<{ examples: { examples: number }[] }>('lineage', row.policy);
      expect(lineage.examples.reduce((sum, source) => sum + source.examples, 0)).toBe(row.rows);
    }
  });

  test("every checkpoint's manifest hashes to the policy's id, and its files to the manifest", async () => {
    for (const { id } of await rows<{ id: string }>(`select id from policies`)) {
      expect(sha256(policyFile(id, 'manifest.json'))).toBe(id);
      const manifest = JSON.parse(readFileSync(policyFile(id, 'manifest.json'), 'utf8'));
      expect(manifest.files.length).toBeGreaterThan(0);
      for (const file of manifest.files) expect(sha256(policyFile(id, file.path))).toBe(file.sha256);
    }
  });

  test("every dataset hashes to its run's record and has a line per example", async () => {
    for (const run of await rows<{ sha: string; rows: number }>(
      `select dataset_sha256 as sha, dataset_rows as rows from training_runs`,
    )) {
      const file = path.join(stack.config.artifacts, 'datasets', `${run.sha}.jsonl`);
      expect(sha256(file)).toBe(run.sha);
      expect(readFileSync(file, 'utf8').trim().split('\n')).toHaveLength(run.rows);
    }
  });

  test('evaluations equal the statistics of their trajectories', async () => {
    const stored = await rows<Evaluation>(`select * from evaluations order by iteration, evaluation_set`);
    const ofSet = { iteration: 0, incumbent_id: null, tasks: spec.environment.heldOutTasks / 2 };
    expect(stored.slice(0, 2)).toMatchObject([
      { evaluation_set: 'dev', ...ofSet },
      { evaluation_set: 'test', ...ofSet },
    ]);
    for (const evaluation of stored) {
      const own = await heldOut(evaluation.policy_id, evaluation.evaluation_set);
      const successes = [...own.values()].filter((reward) => reward === 1).length;
      const { low, high } = wilsonInterval(successes, own.size, 0.95);
      expect(evaluation).toMatchObject({ tasks: own.size, successes, success_low: low, success_high: high });
      expect(evaluation.mean_reward).toBeCloseTo([...own.values()].reduce((a, b) => a + b, 0) / own.size, 12);
      if (evaluation.incumbent_id) await expectComparison(evaluation, own, await heldOut(evaluation.incumbent_id));
    }
  });

  test('the first policy and every promoted one, and no other, have a score on test', async () => {
    const promoted = await rows<{ id: string }>(
      `select candidate_id as id from promotions where role = 'target' and decision = 'promote' order by id`,
    );
    const tested = await rows<{ id: string }>(
      `select policy_id as id from evaluations where evaluation_set = 'test' order by id`,
    );
    expect(tested).toEqual(promoted);
  });

  test('active policies follow from the recorded decisions', async () => {
    const decisions = await rows<Record<'role' | 'candidate_id' | 'incumbent_id' | 'decision', string>>(
      `select role, candidate_id, incumbent_id, decision from promotions order by iteration, role`,
    );
    const active: Record<string, { policy_id: string; version: number }> = {};
    for (const { role, candidate_id, incumbent_id, decision } of decisions) {
      expect(active[role]?.policy_id ?? null).toBe(incumbent_id);
      if (decision === 'promote') active[role] = { policy_id: candidate_id, version: (active[role]?.version ?? 0) + 1 };
    }
    const stored = await rows<{ role: string }>(`select role, policy_id, version from active_policies`);
    expect(Object.fromEntries(stored.map(({ role, ...policy }) => [role, policy]))).toEqual(active);
  });
});

type Evaluation = {
  iteration: number;
  policy_id: string;
  evaluation_set: 'dev' | 'test';
  incumbent_id: string | null;
  mean_reward: number;
  wins: number;
  losses: number;
  mean_difference: number;
  difference_low: number;
  difference_high: number;
};

async function heldOut(policyId: string, set: 'dev' | 'test' = 'dev'): Promise<Map<string, number>> {
  const played = await rows<{ task_id: string; reward: number }>(
    `select task_id, reward from trajectories
     where policy_id = '${policyId}' and purpose = '${set === 'dev' ? 'evaluation' : 'test'}' and outcome = 'scored' order by task_id`,
  );
  return new Map(played.map(({ task_id, reward }) => [task_id, reward]));
}

async function expectComparison(
  stored: Evaluation,
  own: Map<string, number>,
  other: Map<string, number>,
): Promise<void> {
  const tasks = [...own.keys()].filter((id) => other.has(id));
  const differences = tasks.map((id) => own.get(id)! - other.get(id)!);
  const seed = deriveSeed(spec.seed, stored.iteration, 'evaluate');
  const { low, high } = pairedBootstrap(differences, { seed, resamples: 2000, confidence: 0.95 });
  expect(stored).toMatchObject({
    wins: tasks.filter((id) => own.get(id) === 1 && other.get(id)! < 1).length,
    losses: tasks.filter((id) => own.get(id)! < 1 && other.get(id) === 1).length,
    difference_low: low,
    difference_high: high,
  });
}

test('the rollout worker also polls for an environment that is not available yet, as `up` hosts it once it is', () => {
  const queues = readReadyFile(stack.config.home, 'worker-rollout', stack.pidOf('worker-rollout'));
  expect(queues).toEqual(expect.arrayContaining(['rollout-warehouse', 'rollout-env-service']));
});

describe('the workflows of the campaign', () => {
  test('campaign, iterations, rollouts and training jobs have readable ids', () => {
    const ids = [...new Set(runs.map(({ workflowId }) => workflowId))];
    expect(ids).toEqual(expect.arrayContaining([`campaign/${name}`, `campaign/${name}/iteration/1`]));
    expect(ids).toContain(`campaign/${name}/iteration/1/rollout/train/failure/0`);
    expect(ids).toContain(`campaign/${name}/iteration/2/train/target`);
    const shape =
      /^campaign\/disturbed(\/iteration\/[0-2](\/rollout\/(train|evaluation|test|expert|validation)\/(target|failure|reference)\/\d+|\/train\/(base|target|failure))?)?$/;
    expect(ids.filter((id) => !shape.test(id))).toEqual([]);
  });

  test('rows have readable ids', async () => {
    const shapes: Record<string, string> = {
      trajectories: '^[0-2]/(train|evaluation|test|expert|validation)/([0-9a-f]{12}|reference)/.+/\\d+$',
      feedback_signals: '^[1-2]/(forgetting|boundary|rare)/\\d+$',
      preference_pairs: '^[1-2]/(target|failure)/[a-z]+-[a-z]+/\\d+$',
    };
    for (const [table, shape] of Object.entries(shapes))
      await expectNone(`select id from ${table} where id !~ '${shape}'`);
  });

  test('there is one run per iteration, and every workflow is completed', async () => {
    expect(runs.filter(({ type }) => type === 'campaign')).toHaveLength(3);
    expect(await stack.client.workflow.count(notCompleted)).toMatchObject({ count: 0 });
  });

  test('no payload of any event exceeds 32 KB', () => {
    const sizes = runs.flatMap(({ history }) => payloadsOf(history.events).map(({ length }) => length));
    expect(sizes.length).toBeGreaterThan(200);
    expect(Math.max(...sizes)).toBeLessThan(payloadLimitBytes);
  });

  test('no payload contains a path of this machine or text of a policy', () => {
    const texts = runs.flatMap(({ history }) => payloadsOf(history.events).map((data) => Buffer.from(data).toString()));
    expect(texts.filter((text) => text.includes(stack.config.home))).toEqual([]);
    expect(texts.filter((text) => /select /i.test(text))).toEqual([]);
  });

  test('every history replays on the bundle of the workers', async () => {
    const workflowBundle = { codePath: path.join(stack.config.projectRoot, 'dist', 'workflow-bundle.js') };
    const failed = [];
    const replay = Worker.runReplayHistories({ workflowBundle, dataConverter: dataConverterOf({}) }, runs);
    for await (const { workflowId, error } of replay) if (error) failed.push({ workflowId, error });
    expect(failed).toEqual([]);
  });

  test('search attributes show the state of the campaign', async () => {
    const [campaign] = await listed(`WorkflowId = "campaign/${name}" and ExecutionStatus = "Completed"`);
    const [best] = await rows<{ best: number }>(
      `select max(successes::float8 / tasks) as best from evaluations e join promotions p
         on p.candidate_id = e.policy_id and e.evaluation_set = 'dev' and p.decision = 'promote'`,
    );
    expect(campaign!.searchAttributes).toMatchObject({
      CampaignName: [name],
      Recipe: ['combined'],
      EnvironmentName: ['intercode-sql'],
      Outcome: ['finished'],
      Iteration: [2],
      NeedsAttention: [false],
      BestScore: [best!.best],
    });
    for (const workflow of await listed(`CampaignName = "${name}"`))
      expect(workflow.searchAttributes).toMatchObject({ Recipe: ['combined'], Iteration: [expect.any(Number)] });
  });

  test('current details show the phases of an iteration and the scores of the campaign', async () => {
    const details = async (id: string): Promise<string> => {
      const metadata = await stack.client.workflow
        .getHandle(id)
        .query<WorkflowMetadata>('__temporal_workflow_metadata');
      return metadata.currentDetails;
    };
    const shown = await details(`campaign/${name}`);
    expect(shown).toMatch(/### disturbed: combined on ` intercode-sql `[^]*\*\*Finished\*\*/);
    // the UI and `status` show the same lines: candidate, decision and active policy of each iteration
    const [, scores] = /(iteration +candidate[^]*?)\n```/.exec(shown) ?? [];
    expect(scores?.split('\n')).toHaveLength(4);
    expect((await stack.cli('status', name)).stdout).toContain(scores!);
    const iteration = await details(`campaign/${name}/iteration/1`);
    expect(iteration.match(/✓/g)).toHaveLength(9);
    const scored = spec.environment.trainTasks * attempts * 2;
    expect(iteration).toMatch(new RegExp(`✓ {2}rollout .* {2}scored ${scored}\n`));
    expect(await details(`campaign/${name}/iteration/1/train/target`)).toMatch(
      /target on \d+ rows: policy [0-9a-f]+ in/,
    );
  });
});

type WorkflowMetadata = { currentDetails: string };

async function listed(query: string) {
  const found = [];
  for await (const workflow of stack.client.workflow.list({ query })) found.push(workflow);
  return found;
}

test('the report is one file without external resources', async () => {
  const { path: file } = await stack.json<{ path: string }>('report', name);
  const html = readFileSync(file, 'utf8');
  expect(html).toContain('<svg');
  expect(
    html.match(/<(script|link|img|iframe|image)[^>]*(src|href)="?(?!data:)[^>]*>|@import|url\((?!['"]?(data:|#))/gi),
  ).toBeNull();
});

test('a plain Python loop over the same attempts takes the same actions and gets the same rewards', async () => {
  const sampled = await rows<Sampled>(
    `select t.id, k.environment, k.definition, t.seed::integer as seed, t.policy_id, t.purpose, t.reward,
       array(select s.action from trajectory_turns s where s.trajectory_id = t.id order by s.ordinal) as actions
     from trajectories t join tasks k on k.id = t.task_id
     where t.policy_id is not null and t.outcome = 'scored' order by md5(t.id) limit 40`,
  );
  const { rollouts, environment, evaluation } = (await stored()).spec;
  const bare = sampled.map(({ purpose, reward: _reward, actions: _actions, id: _id, ...attempt }) => ({
    ...attempt,
    temperature: purpose === 'train' ? rollouts.temperature : evaluation.temperature,
    max_tokens: rollouts.maxTokens,
    max_turns: environment.maxTurns,
  }));
  const { url, token } = stack.config.policy;
  const policies = path.join(stack.config.artifacts, 'policies');
  const input = JSON.stringify({ policy_url: url, token, policies, attempts: bare });
  const { stdout, stderr } = spawnSync(stack.config.python, [path.join(__dirname, 'bare_loop.py')], {
    input,
    encoding: 'utf8',
  });
  expect({ stderr, played: JSON.parse(stdout || 'null') }).toEqual({
    stderr: '',
    played: sampled.map(({ reward, actions }) => ({ reward, actions })),
  });
  expect(new Set(sampled.map(({ reward }) => reward)).size).toBeGreaterThan(1);
});

type Sampled = { id: string; seed: number; policy_id: string; purpose: string; reward: number; actions: string[] };
type Stored = {
  spec: {
    rollouts: { temperature: number; maxTokens: number };
    environment: { maxTurns: number };
    evaluation: { temperature: number };
  };
};

const stored = async (): Promise<Stored> => (await rows<Stored>(`select spec from campaigns`))[0]!;

type Scored = {
  campaign: string;
  policyId: string;
  scores: { evaluationSet: string; feature: string | null; value: string | null; tasks: number; successes: number }[];
};

/** Last in this file: the other tests read all rows of the database. */
describe('an evaluation of a stored policy', () => {
  const whole = ({ scores }: Scored) =>
    scores.filter(({ feature }) => feature === null).map(({ evaluationSet, tasks }) => [evaluationSet, tasks]);

  test("plays the campaign's own sets with the same results, and is found when it is repeated", async () => {
    const first = await stack.json<Scored>('evaluate', name);
    const again = await stack.json<Scored>('evaluate', name, '--on', 'test');
    expect(again.campaign).toBe(first.campaign);
    expect(whole(first)).toEqual([
      ['dev', 15],
      ['test', 15],
    ]);
    expect(whole(again)).toEqual([['test', 15]]);
    const ofPatterns = again.scores.filter(({ feature }) => feature === 'pattern');
    expect(ofPatterns.reduce((sum, { tasks }) => sum + tasks, 0)).toBe(15);
    const differing = await rows(
      `with scored as (
         select c.name, k.content_key, k.evaluation_set, t.reward from trajectories t
         join campaigns c on c.id = t.campaign_id
         join tasks k on k.campaign_id = t.campaign_id and k.id = t.task_id
         where t.policy_id = '${first.policyId}' and t.purpose in ('evaluation', 'test'))
       select * from (select * from scored where name = '${name}') a
       full join (select * from scored where name = '${first.campaign}') b using (content_key, evaluation_set)
       where a.reward is distinct from b.reward`,
    );
    expect(differing).toEqual([]); // attempts of evaluations are greedy and have the same seeds
    const { code, stdout } = await stack.cli('compare', name, first.campaign);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/ 15 +0\.\d{3} +0\.\d{3} +\+0\.000 /)]);
    expect((await stack.json<{ campaign: string }>('lineage', first.policyId)).campaign).toBe(name);
  });

  test('plays the untrained base on another split of the environment', async () => {
    const where = ['--on', 'intercode-sql', '--option', 'databases=[singer]', '--tasks', '6'];
    const zeroShot = await stack.json<Scored>('evaluate', name, '--role', 'base', ...where);
    expect(whole(zeroShot)).toEqual([['test', 6]]);
    const [base] = await rows<{ id: string }>(`select id from policies where role = 'base' limit 1`);
    expect(zeroShot.policyId).toBe(base!.id);
    const played = await rows<{ features: { group: string } }>(
      `select k.features from tasks k join campaigns c on c.id = k.campaign_id
       where c.name = '${zeroShot.campaign}' and k.split = 'held-out'`,
    );
    expect(new Set(played.map(({ features }) => features.group))).toEqual(new Set(['singer']));
  });

  test.each([
    [['nothing-like-this'], 'expected a campaign'],
    [[name, '--iteration', '7'], 'expected one that trained a target policy: 0, 1, 2'],
    [[name, '--role', 'judge'], '--role: found judge, expected base, failure, target'],
    [[name, '--on', 'test', '--tasks', '3'], '--on: found the set test'],
  ])('evaluate %j is rejected', async (args, message) => {
    const { code, stderr } = await stack.cli('evaluate', ...args);
    expect([code, stderr]).toEqual([expect.any(Number), expect.stringContaining(message)]);
    expect(code).toBeGreaterThan(0);
  });
});
