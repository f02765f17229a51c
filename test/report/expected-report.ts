import { countSuccesses } from '../../src/domain/evaluation/task-scores';
import { groupBy } from '../../src/domain/group-by';
import { compareText } from '../../src/domain/compare-text';
import { deriveSeed } from '../../src/domain/random/seed-tree';
import { defaultBootstrapSettings, exactMcNemar, pairedBootstrap } from '../../src/domain/evaluation/statistics';
import type { CampaignReport } from '../../src/report/campaign/campaign-report';
import type { FeedbackSignalKind } from '../../src/domain/signals/feedback-signal';
import type { Evaluation } from '../../src/report/campaign/campaign-data';
import type { ShownAttempt } from '../../src/report/campaign/attempts';
import type { Lineage } from '../../src/report/campaign/lineage';
import type { TrainingCurve } from '../../src/report/campaign/training-curves';
import type { TaskGroup } from '../../src/report/campaign/task-pool';
import { type CampaignRows, rowsOf } from './campaign-rows';
import type { Row } from './fixture-rows';

const text = (value: unknown): string => value as string;
const num = (value: unknown): number => value as number;
const sum = (rows: Row[], column: string): number => rows.reduce((total, row) => total + num(row[column]), 0);
const mean = (rows: Row[], column: string): number => sum(rows, column) / rows.length;

/** Groups rows by the values of some columns, in the order of these values; null comes last. */
function grouped(rows: Row[], columns: string[]): Row[][] {
  const groupKey = (row: Row): string =>
    columns
      .map((c) => (row[c] === null || row[c] === undefined ? '~' : String(row[c] as string | number | boolean)))
      .join('\n');
  return [...groupBy(rows, groupKey)].sort(([a], [b]) => compareText(a, b)).map(([, group]) => group);
}

export const trajectoriesOf = (rows: CampaignRows): Row[] =>
  ['trajectories', 'late_trajectories', 'evaluation_trajectories'].flatMap((table) => rowsOf(rows, table));

export const tasksOf = (rows: CampaignRows): Row[] => [...rowsOf(rows, 'tasks'), ...rowsOf(rows, 'late_tasks')];

/** Computes the expected report of a campaign from its rows without SQL. */
export function expectedReport(rows: CampaignRows): CampaignReport {
  const evaluations = expectedEvaluations(rows);
  const outcome = expectedOutcome(rows, evaluations);
  return {
    campaign: expectedHeader(rows),
    evaluations,
    outcome,
    roleAttempts: expectedAttempts(rows),
    failureCounts: expectedFailures(expectedAttempts(rows)),
    signals: grouped(rowsOf(rows, 'feedback_signals'), ['iteration', 'kind']).map((group) => ({
      iteration: num(group[0]!['iteration']),
      kind: text(group[0]!['kind']),
      signals: group.length,
      tasks: new Set(group.map((row) => row['task_id'])).size,
    })),
    rates: grouped(rowsOf(rows, 'signal_rates'), ['iteration', 'kind']).map(([row]) => ({
      iteration: num(row!['iteration']),
      kind: text(row!['kind']) as FeedbackSignalKind,
      played: num(row!['played']),
      flagged: num(row!['flagged']),
      unchanged: num(row!['unchanged']),
      permutations: num(row!['permutations']),
    })),
    enrichments: [], // its attempts have no groups
    taskGroups: expectedTaskGroups(rows),
    stages: [],
    limitCuts: [],
    matches: [],
    diversity: [],
    steps: [],
    contexts: [],
    explorationRuns: [],
    modelSpending: [],
    budget: null,
    calibrations: [],
    agreements: [],
    scenarios: [],
    setScores: expectedSetScores(rows),
    seal: null,
    waste: { confirmed: { calls: 0, tokens: 0, usd: 0 }, unconfirmed: { calls: 0, tokens: 0, usd: 0 } },
    pairs: grouped(rowsOf(rows, 'preference_pairs'), ['iteration', 'for_role', 'kind']).map((group) => ({
      iteration: num(group[0]!['iteration']),
      role: text(group[0]!['for_role']),
      kind: text(group[0]!['kind']),
      pairs: group.length,
      tasks: new Set(group.map((row) => row['task_id'])).size,
      hardNegatives: group.filter((row) => num(row['rejected_reward']) >= 0.6).length,
      meanChosenReward: mean(group, 'chosen_reward'),
      meanRejectedReward: mean(group, 'rejected_reward'),
    })),
    droppedPairs: grouped(rowsOf(rows, 'dropped_pairs'), ['iteration', 'for_role', 'kind', 'reason']).map(([row]) => ({
      iteration: num(row!['iteration']),
      role: text(row!['for_role']),
      kind: text(row!['kind']),
      reason: text(row!['reason']),
      candidates: num(row!['count']),
    })),
    ...expectedCosts(rows),
    trainingRuns: rowsOf(rows, 'training_runs')
      .sort((a, b) => compareText(text(a['submitted_at']), text(b['submitted_at'])))
      .map((row) => ({
        jobKey: text(row['job_key']),
        iteration: num(row['iteration']),
        role: text(row['role']),
        method: text(row['method']),
        status: text(row['status']),
        datasetRows: num(row['dataset_rows']),
        settings: row['settings'] as Record<string, unknown>,
        tokens: num(row['tokens']),
        seconds: num(row['seconds']),
        ...expectedGpuCost(rows, row),
        ...expectedTruncation(row),
        basePolicy: row['base_policy'] as string | null,
        policyId: text(row['policy_id']),
        failure: null,
      })),
    trainingCurves: expectedCurves(rows),
    taskExamples: expectedTaskExamples(rows, outcome),
    pairExample: expectedPairExample(rows),
    lineage: expectedLineage(rows),
    rowCounts: expectedRowCounts(rows),
  };
}

function expectedFailures(groups: CampaignReport['roleAttempts']): CampaignReport['failureCounts'] {
  return groups
    .filter(({ failures }) => failures > 0)
    .map(({ iteration, role, failures, hardNegatives }) => ({
      iteration,
      role,
      failures,
      nearMisses: hardNegatives,
      strange: null, // its attempts have no groups
      graded: groups.some((one) => one.iteration === iteration && (one.meanFailureReward ?? 0) > 0),
    }));
}

function expectedHeader({ campaign, blocks }: CampaignRows): CampaignReport['campaign'] {
  return {
    id: 1,
    name: text(campaign['name']),
    recipe: text(campaign['recipe']),
    environment: text(campaign['environment']),
    spec: campaign['spec'],
    specHash: text(campaign['spec_hash']),
    seed: String(campaign['seed']),
    status: text(campaign['status']),
    createdAt: new Date(text(campaign['created_at'])),
    finishedAt: new Date(text(campaign['finished_at'])),
    iterations: blocks.length,
    evaluationAttempts: 1,
    confidence: 0.95,
    hardNegativeReward: 0.6,
    warnBelow: 0.1,
    stopBelow: 0,
    forkedFrom: null,
    forkIteration: null,
    nondeterminism: null,
  };
}

function expectedEvaluations(rows: CampaignRows): Evaluation[] {
  const scores = rowsOf(rows, 'evaluations').map((e) => ({
    policyId: text(e['policy_id']),
    iteration: num(e['iteration']),
    tasks: num(e['tasks']),
    successes: num(e['successes']),
    successLow: num(e['success_low']),
    successHigh: num(e['success_high']),
    meanReward: num(e['mean_reward']),
    ...exclusionsOf(rows, text(e['policy_id'])),
  }));
  return rowsOf(rows, 'evaluations').map((e, i) => {
    const decided = rowsOf(rows, 'promotions').find((row) => row['candidate_id'] === e['policy_id']);
    return {
      ...scores[i]!,
      role: 'target',
      incumbent: scores.find(({ policyId }) => policyId === e['incumbent_id']) ?? null,
      paired: !('mcnemar_p' in e)
        ? null
        : {
            wins: num(e['wins']),
            losses: num(e['losses']),
            mcnemarP: num(e['mcnemar_p']),
            meanDifference: num(e['mean_difference']),
            differenceLow: num(e['difference_low']),
            differenceHigh: num(e['difference_high']),
          },
      decision: (decided?.['decision'] ?? null) as Evaluation['decision'],
      reason: (decided?.['reason'] ?? null) as string | null,
    };
  });
}

function exclusionsOf(rows: CampaignRows, policy: string): { attempts: number; excluded: number } {
  const played = trajectoriesOf(rows).filter((t) => t['purpose'] === 'evaluation' && t['policy_id'] === policy);
  return { attempts: played.length, excluded: played.filter((t) => t['outcome'] !== 'scored').length };
}

/** Returns the held-out attempts of a policy, by task. */
const heldOutOf = (rows: CampaignRows, policy: string): Map<string, Row> =>
  new Map(
    trajectoriesOf(rows)
      .filter((t) => t['purpose'] === 'evaluation' && t['policy_id'] === policy && t['outcome'] === 'scored')
      .map((t) => [text(t['task_id']), t]),
  );

function expectedOutcome(rows: CampaignRows, evaluations: Evaluation[]): CampaignReport['outcome'] {
  const [start, ...later] = evaluations;
  const promoted = later.filter(({ decision }) => decision === 'promote').at(-1);
  const final = promoted ?? later.at(-1) ?? null;
  const unpaired = { evaluationSet: 'dev', isFinalActive: false, pairedTasks: 0, paired: null } as const;
  if (!start || !final) return { start: start ?? null, final, ...unpaired };

  const [before, after] = [heldOutOf(rows, start.policyId), heldOutOf(rows, final.policyId)];
  const both = [...before.keys()].filter((task) => after.has(task)).sort();
  const rewards = both.map((task) => [num(before.get(task)!['reward']), num(after.get(task)!['reward'])] as const);
  const wins = rewards.filter(([b, a]) => a === 1 && b < 1).length;
  const losses = rewards.filter(([b, a]) => a < 1 && b === 1).length;
  const bootstrap = pairedBootstrap(
    rewards.map(([b, a]) => a - b),
    { ...defaultBootstrapSettings, seed: deriveSeed(7, 'report', 'outcome') },
  );
  const paired = {
    wins,
    losses,
    mcnemarP: exactMcNemar(wins, losses),
    meanDifference: bootstrap.mean,
    differenceLow: bootstrap.low,
    differenceHigh: bootstrap.high,
  };
  return {
    start,
    final,
    evaluationSet: 'dev',
    isFinalActive: promoted !== undefined,
    pairedTasks: both.length,
    paired,
  };
}

function expectedSetScores(rows: CampaignRows): CampaignReport['setScores'] {
  return rowsOf(rows, 'evaluations').map((e) => {
    const rewards = [...heldOutOf(rows, text(e['policy_id'])).values()].map((row) => num(row['reward']));
    const average = rewards.reduce((total, reward) => total + reward, 0) / rewards.length;
    const squares = rewards.reduce((total, reward) => total + (reward - average) ** 2, 0);
    return {
      iteration: num(e['iteration']),
      policyId: text(e['policy_id']),
      evaluationSet: 'dev',
      feature: null,
      value: null,
      ...countSuccesses(rewards.map((reward) => ({ success: Number(reward === 1) }))),
      passAt: [],
      ...exclusionsOf(rows, text(e['policy_id'])),
      meanReward: average,
      rewardDeviation: Math.sqrt(squares / (rewards.length - 1)),
    };
  });
}

function expectedAttempts(rows: CampaignRows): CampaignReport['roleAttempts'] {
  const scored = trajectoriesOf(rows).filter((t) => t['purpose'] === 'train' && t['outcome'] === 'scored');
  const groups = grouped(scored, ['iteration', 'role']).map((group) => {
    const failures = group.filter((t) => num(t['reward']) < 1);
    const inBin = (bin: number) =>
      failures.filter((t) => num(t['reward']) * 100 >= bin * 10 && num(t['reward']) * 100 < bin * 10 + 10).length;
    return {
      iteration: num(group[0]!['iteration']),
      role: text(group[0]!['role']),
      attempts: group.length,
      tasks: new Set(group.map((t) => t['task_id'])).size,
      successes: group.length - failures.length,
      failures: failures.length,
      hardNegatives: failures.filter((t) => num(t['reward']) >= 0.6).length,
      meanReward: mean(group, 'reward'),
      meanFailureReward: failures.length > 0 ? mean(failures, 'reward') : null,
      histogram: Array.from({ length: 10 }, (_, bin) => inBin(bin)),
    };
  });
  return groups.sort((a, b) => a.iteration - b.iteration || compareText(b.role, a.role)); // target before failure
}

function expectedTaskGroups(rows: CampaignRows): TaskGroup[] {
  const kinds = new Map(rowsOf(rows, 'feedback_signals').map((signal) => [signal['id'], signal['kind']]));
  const tasks = tasksOf(rows).map((task): Row => ({ ...task, kind: kinds.get(task['parent_signal_id']) ?? null }));
  return grouped(tasks, ['created_iteration', 'split', 'origin', 'verdict', 'reason', 'kind']).map((group) => ({
    iteration: num(group[0]!['created_iteration']),
    split: group[0]!['split'] as TaskGroup['split'],
    origin: group[0]!['origin'] as TaskGroup['origin'],
    verdict: group[0]!['verdict'] as TaskGroup['verdict'],
    reason: group[0]!['reason'] as string | null,
    signalKind: group[0]!['kind'] as string | null,
    tasks: group.length,
  }));
}

type Costs = Pick<CampaignReport, 'phases' | 'events' | 'attemptCosts' | 'ledger' | 'faults' | 'resumes'>;

function expectedCosts(rows: CampaignRows): Costs {
  const purposes = ['expert', 'train', 'validation', 'evaluation'];
  const inOrder = trajectoriesOf(rows).map((t): Row => ({ ...t, rank: purposes.indexOf(text(t['purpose'])) }));
  return {
    phases: rowsOf(rows, 'phases').map((row) => ({
      iteration: num(row['iteration']),
      phase: text(row['phase']),
      startedAt: new Date(text(row['started_at'])),
      finishedAt: new Date(text(row['finished_at'])),
      result: row['result'] as Row,
    })),
    events: rowsOf(rows, 'events').map((row) => ({
      iteration: num(row['iteration']),
      kind: text(row['kind']),
      actor: text(row['actor']),
      detail: row['detail'] as Row,
      recordedAt: new Date(text(row['recorded_at'])),
    })),
    attemptCosts: grouped(inOrder, ['iteration', 'rank']).map((group) => ({
      iteration: num(group[0]!['iteration']),
      purpose: text(group[0]!['purpose']),
      attempts: group.length,
      promptTokens: sum(group, 'prompt_tokens'),
      completionTokens: sum(group, 'completion_tokens'),
      seconds: sum(group, 'seconds'),
    })),
    ledger: grouped(rowsOf(rows, 'ledger'), ['unit', 'entry']).map((group) => ({
      unit: group[0]!['unit'] as 'tokens' | 'seconds',
      entry: text(group[0]!['entry']),
      entries: group.length,
      amount: sum(group, 'amount'),
    })),
    faults: expectedFaults(rows),
    resumes: expectedResumes(rows),
  };
}

const expectedResumes = (rows: CampaignRows): CampaignReport['resumes'] =>
  grouped(rowsOf(rows, 'attempt_resumes'), ['iteration']).map((group) => {
    const resumed = group.filter((row) => row['outcome'] === 'resumed');
    return {
      iteration: num(group[0]!['iteration']),
      attempts: new Set(resumed.map((row) => row['trajectory_id'])).size,
      turns: sum(resumed, 'turns'),
      mismatches: group.length - resumed.length,
    };
  });

function expectedFaults(rows: CampaignRows): CampaignReport['faults'] {
  const iterations = new Map(trajectoriesOf(rows).map((t) => [t['id'], t['iteration']]));
  const final = trajectoriesOf(rows).filter((t) => t['outcome'] !== 'scored');
  const replaced = rowsOf(rows, 'attempt_faults').map((f): Row => ({
    ...f,
    iteration: iterations.get(f['trajectory_id']),
  }));
  const all = [
    ...final.map((t): Row => ({ ...t, replaced: false })),
    ...replaced.map((f): Row => ({ ...f, replaced: true })),
  ];
  return grouped(all, ['iteration', 'outcome', 'replaced']).map((group) => ({
    iteration: num(group[0]!['iteration']),
    outcome: text(group[0]!['outcome']),
    replaced: Boolean(group[0]!['replaced']),
    faults: group.length,
    example: text(group[0]!['fault']), // this fixture has one text per kind of fault
  }));
}

function shown(rows: CampaignRows, id: unknown): ShownAttempt {
  const t = trajectoriesOf(rows).find((row) => row['id'] === id)!;
  return {
    trajectoryId: text(t['id']),
    policyId: t['policy_id'] as string | null,
    role: (t['role'] ?? null) as string | null,
    iteration: num(t['iteration']),
    reward: num(t['reward']),
    stopReason: text(t['stop_reason']),
    turns: rowsOf(rows, 'trajectory_turns')
      .filter((turn) => turn['trajectory_id'] === id)
      .map((turn) => ({
        action: text(turn['action']),
        observation: turn['observation'] as ShownAttempt['turns'][0]['observation'],
      })),
  };
}

const goalOf = (rows: CampaignRows, task: unknown): string =>
  text(tasksOf(rows).find(({ id }) => id === task)!['goal']);

function expectedTaskExamples(
  rows: CampaignRows,
  { start, final }: CampaignReport['outcome'],
): CampaignReport['taskExamples'] {
  if (!start || !final) return [];
  const [before, after] = [heldOutOf(rows, start.policyId), heldOutOf(rows, final.policyId)];
  const both = [...before.keys()].filter((task) => after.has(task)).sort();
  const rewards = both.map((task) => ({
    task,
    b: num(before.get(task)!['reward']),
    a: num(after.get(task)!['reward']),
  }));
  const best = [...rewards].sort((x, y) => y.a - x.a || compareText(x.task, y.task));
  const picks = [
    ['gained', best.find(({ a, b }) => a === 1 && b < 1)],
    ['lost', best.find(({ a, b }) => a < 1 && b === 1)],
    ['near miss', best.find(({ a, b }) => a > 0 && a < 1 && b < 1)],
  ] as const;
  return picks.flatMap(([label, pick]) =>
    pick
      ? [
          {
            label,
            taskId: pick.task,
            goal: goalOf(rows, pick.task),
            before: shown(rows, before.get(pick.task)!['id']),
            after: shown(rows, after.get(pick.task)!['id']),
          },
        ]
      : [],
  );
}

function expectedPairExample(rows: CampaignRows): CampaignReport['pairExample'] {
  const rank = (p: Row): number[] => [
    Number(p['hard_negative']),
    Number(p['kind'] === 'failure-failure'),
    num(p['iteration']),
    Number(p['for_role'] === 'target'),
    num(p['rejected_reward']),
  ];
  const [best] = rowsOf(rows, 'preference_pairs').sort((a, b) => {
    const [x, y] = [rank(a), rank(b)];
    const differing = x.findIndex((value, i) => value !== y[i]);
    return differing === -1 ? compareText(text(a['id']), text(b['id'])) : y[differing]! - x[differing]!;
  });
  if (!best) return null;
  return {
    pairId: text(best['id']),
    iteration: num(best['iteration']),
    forRole: text(best['for_role']),
    kind: text(best['kind']),
    hardNegative: Boolean(best['hard_negative']),
    taskId: text(best['task_id']),
    goal: goalOf(rows, best['task_id']),
    chosen: shown(rows, best['chosen_id']),
    rejected: shown(rows, best['rejected_id']),
  };
}

function expectedLineage(rows: CampaignRows): Lineage | null {
  const active = rowsOf(rows, 'promotions')
    .filter(({ decision }) => decision === 'promote')
    .at(-1)!['candidate_id'];
  const run = rowsOf(rows, 'training_runs').find(({ policy_id }) => policy_id === active)!;
  const grown = new Map(
    rowsOf(rows, 'late_tasks')
      .filter(({ verdict }) => verdict === 'admitted')
      .map((t) => [t['id'], t]),
  );
  const pairs = new Map(rowsOf(rows, 'preference_pairs').map((pair) => [pair['id'], pair]));
  const example = rowsOf(rows, 'training_examples').find(
    (x) => x['job_key'] === run['job_key'] && grown.has(pairs.get(x['pair_id'])?.['task_id']),
  );
  if (!example) return null;
  const pair = pairs.get(example['pair_id'])!;
  const task = grown.get(pair['task_id'])!;
  const signal = rowsOf(rows, 'feedback_signals').find(({ id }) => id === task['parent_signal_id'])!;
  return {
    policyId: text(active),
    policyRole: 'target',
    policyIteration: num(run['iteration']),
    jobKey: text(run['job_key']),
    method: text(run['method']),
    ordinal: num(example['ordinal']),
    pairId: text(pair['id']),
    pairKind: text(pair['kind']),
    chosenId: text(pair['chosen_id']),
    chosenReward: num(pair['chosen_reward']),
    rejectedId: text(pair['rejected_id']),
    rejectedReward: num(pair['rejected_reward']),
    taskId: text(task['id']),
    taskGoal: text(task['goal']),
    taskIteration: num(task['created_iteration']),
    signalId: text(signal['id']),
    signalKind: text(signal['kind']),
    signalTrajectoryId: text(signal['trajectory_id']),
    signalReward: shown(rows, signal['trajectory_id']).reward,
    parentTaskId: text(signal['task_id']),
    parentGoal: goalOf(rows, signal['task_id']),
  };
}

function expectedRowCounts(rows: CampaignRows): Record<string, number> {
  const tables = {
    iterations: 'iterations',
    turns: 'trajectory_turns',
    faults: 'attempt_faults',
    signals: 'feedback_signals',
    pairs: 'preference_pairs',
    training_runs: 'training_runs',
    training_examples: 'training_examples',
    policies: 'policies',
    evaluations: 'evaluations',
    promotions: 'promotions',
    events: 'events',
    spending: 'ledger',
  };
  return {
    ...Object.fromEntries(Object.entries(tables).map(([view, table]) => [view, rowsOf(rows, table).length])),
    tasks: tasksOf(rows).length,
    attempts: trajectoriesOf(rows).length,
  };
}

function expectedGpuCost(rows: CampaignRows, run: Row): { gpuSeconds: number; usd: number } {
  const of = (unit: string): number => {
    const entry = rowsOf(rows, 'ledger').find((row) => row['key'] === run['job_key'] && row['unit'] === unit);
    return entry ? num(entry['amount']) : 0;
  };
  return { gpuSeconds: of('gpu-seconds'), usd: of('usd') };
}

function expectedTruncation(
  run: Row,
): Record<'rowsCut' | 'tokensDropped' | 'actionsDropped' | 'actions', number | null> {
  const truncation = run['truncation'] as Record<string, number> | null;
  return {
    rowsCut: truncation?.['rows_cut'] ?? null,
    tokensDropped: truncation?.['tokens_dropped'] ?? null,
    actionsDropped: truncation?.['actions_dropped'] ?? null,
    actions: truncation?.['actions'] ?? null,
  };
}

function expectedCurves(rows: CampaignRows): TrainingCurve[] {
  const runs = rowsOf(rows, 'training_runs').sort((a, b) =>
    compareText(text(a['submitted_at']), text(b['submitted_at'])),
  );
  return runs.map((run) => ({
    jobKey: text(run['job_key']),
    iteration: num(run['iteration']),
    role: text(run['role']),
    method: text(run['method']),
    points: rowsOf(rows, 'training_progress')
      .filter((row) => row['job_key'] === run['job_key'])
      .map((row) => ({ step: num(row['step']), facts: row['facts'] as Record<string, number> })),
  }));
}
