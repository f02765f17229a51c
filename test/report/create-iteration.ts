import { groupBy } from '../../src/domain/group-by';
import type { Random } from '../../src/domain/random/seeded-random';
import { at, evaluationRow, type FixtureSettings, policyId, type Row } from './fixture-rows';

export type World = {
  settings: FixtureSettings;
  random: Random;
  active: Map<string, string>; // policy by role
  pool: Row[]; // admitted train tasks
  heldOut: Row[];
  rewards?: Map<string, Map<string, number>>; // held-out rewards by policy
};

const phaseSeconds: Record<string, number> = {
  plan: 0.8,
  rollout: 61,
  detect: 2.4,
  synthesize: 9.5,
  validate: 14.2,
  pair: 3.1,
  train: 118,
  evaluate: 22,
  report: 1.2,
};

/** Returns the rows of one iteration by table. */
export function createIteration(world: World, iteration: number): Record<string, Row[]> {
  const tables = new Proxy<Record<string, Row[]>>({}, { get: (all, name: string) => (all[name] ??= []) });
  tables['iterations']!.push({
    number: iteration,
    epoch: 1,
    started_at: at(iteration, 0),
    finished_at: at(iteration, 290),
  });
  if (iteration === 0) addSeedTasks(world, tables);
  else addRollouts(world, iteration, tables);
  addPhases(world, iteration, tables);
  addTraining(world, iteration, tables);
  addEvaluation(world, iteration, tables);
  return Object.fromEntries(Object.entries(tables));
}

function addSeedTasks(world: World, tables: Record<string, Row[]>): void {
  const { trainTasks, heldOutTasks } = world.settings;
  const seeds = Array.from({ length: trainTasks + heldOutTasks }, (_, i) =>
    taskRow(
      { id: `seed/${i}`, split: i < trainTasks ? 'train' : 'held-out', origin: 'seed', verdict: 'admitted' },
      0,
      i,
    ),
  );
  tables['tasks']!.push(...seeds);
  world.pool.push(...seeds.slice(0, trainTasks));
  world.heldOut.push(...seeds.slice(trainTasks));
  tables['trajectories']!.push(...world.pool.map((task) => expertRow(task, 0)));
  tables['trajectory_turns']!.push(...tables['trajectories']!.flatMap((row) => turnRows(row)));
}

function addRollouts(world: World, iteration: number, tables: Record<string, Row[]>): void {
  const { random, settings } = world;
  const planned = world.pool.filter(() => random.next() < 0.9);
  for (const role of settings.agents)
    for (const task of planned)
      for (let attempt = 0; attempt < settings.attempts; attempt++)
        tables['trajectories']!.push(attemptRow(world, { iteration, role, task, attempt, purpose: 'train' }));
  tables['planned_tasks']!.push(
    ...planned.map((task, ordinal) => ({ iteration, purpose: 'train', ordinal, task_id: task['id'] })),
  );
  const played = tables['trajectories']!.slice();
  played.slice(0, 3 * iteration).forEach((row, i) =>
    tables['attempt_faults']!.push({
      trajectory_id: row['id'],
      outcome: i % 3 ? 'policy-fault' : 'environment-fault',
      fault: i % 3 ? 'the policy server answered 503' : 'the session was closed <by the server>',
      recorded_at: at(iteration, 30),
    }),
  );
  played.slice(0, 2 * iteration).forEach((row, i) =>
    tables['attempt_resumes']!.push({
      trajectory_id: row['id'],
      iteration,
      outcome: i % 3 ? 'resumed' : 'mismatch',
      turns: 1 + i,
      detail: i % 3 ? null : `turn ${1 + i} has another observation`,
      recorded_at: at(iteration, 31),
    }),
  );
  addSignals(world, iteration, tables, played);
  addCandidates(world, iteration, tables);
  addPairs(iteration, tables, played);
  tables['trajectory_turns']!.push(...tables['trajectories']!.flatMap((row) => turnRows(row)));
}

function addSignals({ random }: World, iteration: number, tables: Record<string, Row[]>, played: Row[]): void {
  const share: Record<string, number> = { boundary: 0.2, forgetting: iteration > 1 ? 0.05 : 0.01, rare: 0.03 };
  for (const [kind, chance] of Object.entries(share)) {
    const marked = played.filter((row) => row['outcome'] === 'scored' && random.next() < chance);
    marked.forEach((row, ordinal) =>
      tables['feedback_signals']!.push({
        id: `${iteration}/${kind}/${ordinal}`,
        iteration,
        kind,
        ordinal,
        task_id: row['task_id'],
        trajectory_id: row['id'],
        strength: 1,
        detail: { reward: row['reward'] },
        epoch: 1,
        recorded_at: at(iteration, 65),
      }),
    );
    const flagged = new Set(marked.map((row) => row['task_id'])).size;
    tables['signal_rates']!.push({ iteration, kind, played: 600, flagged, unchanged: flagged / 4, permutations: 20 });
  }
}

function addCandidates(world: World, iteration: number, tables: Record<string, Row[]>): void {
  const { random } = world;
  const chosen = tables['feedback_signals']!.filter(() => random.next() < 0.25);
  const reasons = ['equals a pool task', 'equals a held-out task', 'reference actions do not score'];
  const candidates = chosen.map((signal, i) => {
    const rejected = random.next() < 0.35;
    const reason = rejected ? reasons[random.integer(3)] : null;
    const origin = { parent_task_id: signal['task_id'], parent_signal_id: signal['id'] };
    const verdict = rejected ? 'rejected' : 'admitted';
    const id = `synthesized/${iteration}/${String(signal['kind'])}/${i}`;
    return taskRow(
      { id, split: 'train', origin: 'synthesized', verdict, reason, ...origin },
      iteration,
      5000 * iteration + i,
    );
  });
  const admitted = candidates.filter((task) => task['verdict'] === 'admitted');
  world.pool.push(...admitted);
  tables['late_tasks']!.push(...candidates); // after the signals that they refer to
  tables['late_trajectories']!.push(
    ...admitted.flatMap((task) => [validationRow(task, iteration), expertRow(task, iteration)]),
  );
  tables['trajectory_turns']!.push(...tables['late_trajectories']!.flatMap((row) => turnRows(row)));
}

function addPairs(iteration: number, tables: Record<string, Row[]>, played: Row[]): void {
  const scored = played.filter((row) => row['outcome'] === 'scored');
  const byTask = groupBy(scored, (row) => row['task_id']);
  for (const [task, attempts] of byTask) {
    const first = (role: string) => attempts.find((row) => row['role'] === role && (row['reward'] as number) < 1);
    const [target, failure] = [first('target'), first('failure')];
    const expert = { id: `expert/${String(task)}`, reward: 1 };
    if (target) addPair(iteration, tables, ['target', 'expert-target', expert, target]);
    if (failure) addPair(iteration, tables, ['target', 'expert-failure', expert, failure]);
    if (target && failure)
      for (const role of ['target', 'failure']) addPair(iteration, tables, [role, 'failure-failure', target, failure]);
  }
  for (const kind of ['expert-target', 'failure-failure'])
    tables['dropped_pairs']!.push({
      iteration,
      for_role: 'target',
      kind,
      reason: 'same-actions',
      count: 17 * iteration,
    });
  tables['dropped_pairs']!.push({
    iteration,
    for_role: 'target',
    kind: 'expert-failure',
    reason: 'other-kind',
    count: 3 * iteration,
  });
}

function addPair(
  iteration: number,
  tables: Record<string, Row[]>,
  [role, kind, a, b]: [string, string, Row, Row],
): void {
  const [chosen, rejected] = (a['reward'] as number) >= (b['reward'] as number) ? [a, b] : [b, a];
  if (chosen['reward'] === rejected['reward']) {
    const known = tables['dropped_pairs']!.find(
      (row) => row['reason'] === 'tie' && row['kind'] === kind && row['for_role'] === role,
    );
    if (known) known['count'] = (known['count'] as number) + 1;
    else tables['dropped_pairs']!.push({ iteration, for_role: role, kind, reason: 'tie', count: 1 });
    return;
  }
  tables['preference_pairs']!.push({
    id: `${iteration}/${role}/${kind}/${tables['preference_pairs']!.length}`,
    iteration,
    for_role: role,
    kind,
    task_id: b['task_id'],
    chosen_id: chosen['id'],
    rejected_id: rejected['id'],
    chosen_reward: chosen['reward'],
    rejected_reward: rejected['reward'],
    lambda_dpo: 1,
    lambda_sft: 0,
    hard_negative: (rejected['reward'] as number) >= 0.6,
    epoch: 1,
    recorded_at: at(iteration, 95),
  });
}

function addPhases({ settings }: World, iteration: number, tables: Record<string, Row[]>): void {
  let clock = 0;
  const startOnly = ['plan', 'rollout', 'train', 'evaluate', 'report'];
  for (const [phase, seconds] of Object.entries(phaseSeconds)) {
    if (iteration === 0 && !startOnly.includes(phase)) continue;
    const took = seconds * (1 + 0.1 * iteration);
    const result = { tasks: settings.trainTasks };
    tables['phases']!.push({
      iteration,
      phase,
      epoch: 1,
      started_at: at(iteration, clock),
      finished_at: at(iteration, clock + took),
      result,
    });
    clock += took;
  }
  const key = `harbour-light/iteration/${iteration}/rollout`;
  for (const [unit, amount] of [
    ['tokens', 48_000 + iteration],
    ['seconds', 61.5],
  ] as const)
    tables['ledger']!.push({ key, entry: 'settle', unit, amount, recorded_at: at(iteration, 62) });
  if (iteration === 0)
    tables['events']!.push({ iteration, kind: 'start', actor: 'ada', detail: {}, recorded_at: at(0, 0) });
  if (iteration === 2)
    tables['events']!.push({
      iteration,
      kind: 'pause',
      actor: 'ada <lab>',
      detail: { reason: 'lunch' },
      recorded_at: at(2, 5),
    });
}

function addTraining({ settings, active }: World, iteration: number, tables: Record<string, Row[]>): void {
  for (const role of settings.agents) {
    const jobKey = `campaign/harbour-light/iteration/${iteration}/train/${role}`;
    const pairs = tables['preference_pairs']!.filter((row) => row['for_role'] === role);
    const experts = tables['trajectories']!.filter((row) => row['purpose'] === 'expert');
    const examples = iteration === 0 ? experts : pairs;
    const method = iteration === 0 ? 'sft' : role === 'target' ? 'target' : 'dpo';
    const policy = policyId(role, iteration);
    tables['training_runs']!.push({
      job_key: jobKey,
      iteration,
      epoch: 1,
      role,
      method,
      base_policy: active.get(role) ?? null,
      seed: 5 + iteration,
      dataset_sha256: policy,
      dataset_uri: 'file:///data',
      dataset_rows: examples.length,
      settings: {},
      backend: 'local',
      status: 'succeeded',
      policy_id: policy,
      tokens: 90_000 + 1234 * iteration,
      seconds: 55.25,
      truncation: { actions: 8, rows_cut: iteration, tokens_dropped: 40 * iteration, actions_dropped: 2 * iteration },
      submitted_at: at(iteration, role === 'failure' ? 95 : 150),
      finished_at: at(iteration, 200),
    });
    tables['training_progress']!.push(
      ...[10, 20, 30].map((step) => ({ job_key: jobKey, step, facts: progressFacts(iteration, step, method) })),
    );
    if (iteration > 0)
      // on two GPUs at 3.60 dollars an hour
      for (const [unit, amount] of Object.entries({
        tokens: 91_234,
        seconds: 55.25,
        'gpu-seconds': 110.5,
        usd: 0.1105,
      }))
        tables['ledger']!.push({ key: jobKey, entry: 'settle', unit, amount, recorded_at: at(iteration, 200) });
    const parent = active.get(role) ?? null;
    tables['policies']!.push({
      id: policy,
      role,
      parent_id: parent,
      iteration,
      epoch: 1,
      training_run: jobKey,
      uri: 'file:///p',
      recorded_at: at(iteration, 200),
    });
    tables['training_examples']!.push(
      ...examples.map((row, ordinal) => ({
        job_key: jobKey,
        ordinal,
        [iteration === 0 ? 'trajectory_id' : 'pair_id']: row['id'],
      })),
    );
    if (role !== 'target') active.set(role, policy);
  }
}

const progressFacts = (iteration: number, step: number, method: string): Record<string, number> => ({
  loss: 3 / step + iteration,
  learning_rate: 0.003 / step,
  tokens_per_s: 1_000 + step,
  grad_norm: 1 / step,
  ...(method === 'sft' ? {} : { margin: step / 100, accuracy: 0.5 + step / 100 }),
});

function addEvaluation(world: World, iteration: number, tables: Record<string, Row[]>): void {
  const { active, heldOut } = world;
  const rewards = (world.rewards ??= new Map<string, Map<string, number>>());
  const policy = policyId('target', iteration);
  const attempts = heldOut.map((task) =>
    attemptRow(world, { iteration, role: 'target', task, attempt: 0, purpose: 'evaluation', policy }),
  );
  tables['evaluation_trajectories']!.push(...attempts);
  tables['trajectory_turns']!.push(...attempts.flatMap((row) => turnRows(row)));
  const scored = attempts.filter((row) => row['outcome'] === 'scored');
  rewards.set(policy, new Map(scored.map((row) => [String(row['task_id']), row['reward'] as number])));
  const incumbent = active.get('target');
  const against = incumbent ? { id: incumbent, rewards: rewards.get(incumbent)! } : null;
  const evaluation = evaluationRow(iteration, policy, rewards.get(policy)!, against);
  tables['evaluations']!.push({ ...evaluation, epoch: 1 });
  const promote = !incumbent || (evaluation['mean_difference'] as number) >= 0;
  tables['promotions']!.push({
    iteration,
    epoch: 1,
    role: 'target',
    candidate_id: policy,
    incumbent_id: incumbent ?? null,
    decision: promote ? 'promote' : 'keep',
    reason: 'the gate & its reason',
    recorded_at: at(iteration, 281),
  });
  if (promote) active.set('target', policy);
}

type Attempt = { iteration: number; role: string; task: Row; attempt: number; purpose: string; policy?: string };

function attemptRow({ random, active }: World, { iteration, role, task, attempt, purpose, policy }: Attempt): Row {
  const player = policy ?? active.get(role)!;
  const skill = role === 'target' ? 0.46 + 0.045 * iteration - (iteration === 2 ? 0.11 : 0) : 0.4 - 0.06 * iteration;
  const draw = random.next();
  const graded = random.next() < 0.45 ? 0 : Math.round(100 * random.next() ** (role === 'failure' ? 0.7 : 1.4)) / 100;
  const reward = draw < skill ? 1 : Math.min(graded, 0.95);
  const fault = random.next() < 0.006;
  return {
    id: `${iteration}/${purpose}/${player.slice(0, 12)}/${String(task['id'])}/${attempt}`,
    iteration,
    purpose,
    role,
    task_id: task['id'],
    policy_id: player,
    attempt,
    epoch: 1,
    seed: random.integer(2 ** 31 - 1),
    outcome: fault ? 'environment-fault' : 'scored',
    reward: fault ? null : reward,
    raw_score: fault ? null : reward,
    stop_reason: fault ? 'fault' : 'completed',
    fault: fault ? 'connection lost' : null,
    opening: [],
    turn_count: 2,
    prompt_tokens: 90 + random.integer(60),
    completion_tokens: 14 + random.integer(30),
    seconds: 0.25,
    recorded_at: at(iteration, 40),
  };
}

const expertRow = (task: Row, iteration: number): Row => ({
  ...referenceRow(task, iteration, 'expert'),
  id: `expert/${String(task['id'])}`,
});

const validationRow = (task: Row, iteration: number): Row => ({
  ...referenceRow(task, iteration, 'validation'),
  id: `validation/${String(task['id'])}`,
});

const referenceRow = (task: Row, iteration: number, purpose: string): Row => ({
  iteration,
  purpose,
  task_id: task['id'],
  policy_id: null,
  attempt: 0,
  epoch: 1,
  seed: 1,
  outcome: 'scored',
  reward: 1,
  raw_score: 1,
  stop_reason: 'completed',
  fault: null,
  opening: [],
  turn_count: 2,
  prompt_tokens: 0,
  completion_tokens: 0,
  seconds: 0.125,
  recorded_at: at(iteration, 35),
});

const subjects = ['singers', 'concerts', 'stadiums', 'airports', 'flights', 'students', 'pets', 'cars'];

function taskRow(own: Row, iteration: number, n: number): Row {
  const subject = subjects[n % subjects.length]!;
  const goal =
    n % 3 === 0
      ? `How many ${subject} are there with an age above ${n}?`
      : `List the names of the ${subject} with rank < ${n}.`;
  return {
    environment: 'intercode-sql',
    goal,
    definition: { n },
    features: { pattern: 'count', difficulty: 1 + (n % 3) },
    reference_actions: ['SELECT 1', 'submit'],
    content_key: `key-${n}`,
    created_iteration: iteration,
    parent_task_id: null,
    parent_signal_id: null,
    reason: null,
    epoch: 1,
    recorded_at: at(iteration, 1),
    ...own,
    evaluation_set: own['split'] === 'held-out' ? 'dev' : null,
  };
}

function turnRows(row: Row): Row[] {
  const observation = [{ role: 'user', content: `[(${String(row['reward'])}, 'rows > 0')]` }];
  const first = `SELECT count(*) FROM t WHERE reward <= ${String(row['reward'])}`;
  return [first, 'submit'].map((action, ordinal) => ({
    trajectory_id: row['id'],
    ordinal,
    action,
    observation: ordinal === 0 ? observation : [],
    ...(row['policy_id'] === null ? {} : { prompt_token_ids: [1, 2], token_ids: [3, 4], logprobs: [-0.5, -0.25] }),
  }));
}
