import type { Activities } from '../../src/activities';
import { sendNext } from '../../src/activities/campaign/commit-phase';
import { sendProgress } from '../../src/activities/campaign/send-progress';
import type { CampaignState, SpendingProgress } from '../../src/domain/campaign/progress';
import { trainingJobKey } from '../../src/domain/campaign/ids';
import type { RecipeName } from '../../src/domain/campaign/recipe';
import { resolveSpec } from '../../src/specification/read-spec';
import { planOf } from '../../src/specification/iteration-plan';
import { taskQueues } from '../../src/domain/campaign/task-queues';

export const environment = 'scripted';

/** Provider of all models of a scripted campaign with an `llm` section. */
export const provider = 'scripted';

export const queues = [
  'workflow',
  taskQueues.store,
  taskQueues.rollout(environment),
  'llm-offline',
  taskQueues.llm(provider),
  'train',
];

export type Call = { name: keyof Activities; input: Record<string, unknown> };

export type Script = {
  activities: Activities;
  /** All calls in order. */
  calls: Call[];
  /** The calls of one activity. */
  callsOf(name: keyof Activities): Record<string, unknown>[];
};

export const nothingSpent: SpendingProgress = {
  committed: { llmTokens: 0, usd: 0 },
  limit: { llmTokens: null, usd: null },
};

/** Activities that only record their calls: phases commit, policies exist, evaluations score 0.5 and more. */
export function scriptedActivities(
  name: string,
  changes: Partial<Activities> = {},
  spec: Record<string, unknown> = {},
): Script {
  const calls: Call[] = [];
  const committed = new Set<string>();
  const done = (): Promise<void> => Promise.resolve();
  const keyOf = ({ iteration, phase }: { iteration: number; phase: string }): string => `${iteration}/${phase}`;
  const policyOf = (role: string): string => role.padEnd(64, '0');
  const activities: Activities = {
    openIteration: ({ iteration, recipe }) => {
      const resolved = resolveSpec({ name, seed: 1, environment: { name: environment }, recipe, ...spec }, name);
      return Promise.resolve({ epoch: 1, ...planOf(resolved, iteration) });
    },
    beginPhase: (key) => Promise.resolve(committed.has(keyOf(key))),
    commitPhase: (key) => {
      committed.add(keyOf(key));
      return Promise.resolve({ note: `${key.phase} done`, spending: nothingSpent });
    },
    skipPhase: (key) => {
      committed.add(keyOf(key));
      return Promise.resolve('skipped');
    },
    choosePolicies: ({ roles }) =>
      Promise.resolve(
        roles.map((role) => ({ role, policyId: policyOf(role), range: { from: 0, to: 2 }, tasksPerActivity: 1 })),
      ),
    countPlanned: () => Promise.resolve({ tasks: 1, tasksPerActivity: 1 }),
    collectRollouts: () => Promise.resolve({ attempts: 1, reused: 0 }),
    evaluatePolicy: ({ iteration }) => Promise.resolve({ score: 0.5 + iteration / 10 }),
    prepareTraining: ({ iteration, role }) =>
      Promise.resolve({ jobKey: trainingJobKey(name, iteration, role), rows: 1 }),
    prepareStep: ({ iteration, role }) => Promise.resolve({ jobKey: trainingJobKey(name, iteration, role), rows: 1 }),
    trainStep: ({ step }) => Promise.resolve({ policyId: policyOf(`step-${step}`) }),
    planExploration: () => Promise.resolve({ contexts: 2 }),
    planCalibration: () => Promise.resolve({ items: 2 }),
    watchTraining: ({ jobKey }) => Promise.resolve({ policyId: policyOf(jobKey.split('/').pop()!), seconds: 1 }),
    planTest: done,
    scoreTest: done,
    admitTasks: () => Promise.resolve(null),
    awaitServer: done,
    buildPreferencePairs: done,
    closeCampaign: done,
    detectSignals: done,
    planIteration: done,
    planValidation: done,
    recordOperatorCommand: done,
    registerPolicy: done,
    seedTasks: done,
    submitTraining: done,
    registerStep: done,
    unloadPolicies: done,
    synthesizeTasks: done,
    writeReport: done,
    abstractTasks: () => Promise.resolve({ candidates: 1 }),
    explore: () => Promise.resolve({ outcome: 'finished', turns: 1 }),
    judgeCandidates: () => Promise.resolve({ judged: 1 }),
    planSolving: () => Promise.resolve({ from: 0, to: 1 }),
    solveCandidates: () => Promise.resolve({ attempts: 1, reused: 0 }),
    judgeCalibration: () => Promise.resolve({ judged: 1 }),
    reflect: () => Promise.resolve({ usable: true }),
    endTraining: () => Promise.resolve({ ended: 0 }),
    embedCandidates: done,
    closeCalibration: done,
    openCell: () => Promise.resolve({ outcome: 'ended' }),
    closeCell: () => Promise.resolve('finished'),
    recordExperiment: done,
    playCalibration: () => Promise.resolve({ played: 2 }),
    ...changes,
  };
  const recorded: [string, (input: never) => unknown][] = Object.entries(activities).map(([key, activity]) => [
    key,
    (input: never): unknown => {
      calls.push({ name: key as keyof Activities, input });
      return activity(input);
    },
  ]);
  const { beginPhase, commitPhase } = Object.fromEntries(recorded) as Activities;
  const reporting: Pick<Activities, 'beginPhase' | 'commitPhase'> = {
    async beginPhase({ report, ...key }) {
      const isCommitted = await beginPhase(key);
      if (report) await sendProgress(report);
      return isCommitted;
    },
    async commitPhase({ next, ...key }) {
      const result = await commitPhase(key);
      if (!next) return result;
      try {
        const isNextCommitted = await beginPhase({ ...key, phase: next.phase, previous: key.phase });
        await sendNext(result, next);
        return { ...result, isNextCommitted };
      } catch {
        return result;
      }
    },
  };
  return {
    activities: { ...(Object.fromEntries(recorded) as Activities), ...reporting },
    calls,
    callsOf: (wanted) => calls.filter((call) => call.name === wanted).map(({ input }) => input),
  };
}

export const stateOf = (name: string, recipe: RecipeName, iterations: number): CampaignState => ({
  campaignId: 1,
  name,
  recipe,
  environment,
  iterations,
  status: 'running',
  pausedBy: null,
  stopping: false,
  scores: [],
  progress: { iteration: 0, phase: 'plan', note: null, parked: null, score: null },
});
