import { admissionRulesOf } from '../activities/validate/admission-rules';
import { retry } from '../requests/retry';
import { slidingWindow } from '../domain/concurrency';
import { DomainError } from '../domain/errors';
import { candidateTaskId } from '../domain/campaign/ids';
import { admit } from '../domain/tasks/admission/admit';
import type { Candidate, KnownTask } from '../domain/tasks/admission/candidate';
import type { EnvironmentData, TaskRecord } from '../envs/server/environment-data';
import { ModelError } from '../llm/model-error';
import { createModelService, type ModelService } from '../llm/model-service';
import type { Providers } from '../llm/providers';
import { unstoredCalls, type CallTotals } from '../llm/unstored-calls';
import type { CampaignSpec } from '../specification/campaign-spec';
import { caseKey, type CaseDependencies, type Purpose } from './case-judge';
import { caseDraw, promptCases, type PromptCase } from './cases';
import { playCase, type PlayedCandidate, type PlayedCase } from './play-case';
import { countReasons, fateOf, stageYields, usableOf, yieldOf, type Fate } from './stage-yields';

export type PromptEvaluation = ReturnType<typeof summarize>;

export type Evaluated = {
  environments: Omit<CaseDependencies, 'models'>;
  providers: Providers;
  spec: CampaignSpec;
  cases?: readonly PromptCase[];
  /** Called when a case has been played. */
  onPlayed?(name: string): void;
};

/**
 * Plays the fixed cases with real sessions of the environment and the real stages of admission, and returns the yield of
 * each stage. Nothing is stored. Errors of the provider that may pass are retried for `patienceMs`.
 *
 * @throws DomainError `UnknownProvider`, `NoProviders`, `UnknownCase`; ModelError; EnvironmentError
 */
export async function evaluatePrompts(evaluated: Evaluated): Promise<PromptEvaluation> {
  const { environments, providers, spec, cases = promptCases, onPlayed } = evaluated;
  const { store, totals } = unstoredCalls();
  const stopped = new AbortController();
  const models = patient(createModelService({ store, providers }), stopped.signal);
  const pool = await drawPool(environments.environmentData, spec);
  const played = new Map<PromptCase, PlayedCase>();
  await slidingWindow(cases.length, cases.entries(), async ([ordinal, each]) => {
    try {
      const input = { spec, played: each, task: taskOf(pool, each), ordinal, pool, signal: stopped.signal };
      played.set(each, await playCase({ ...environments, models }, input));
      onPlayed?.(each.name);
    } catch (error) {
      stopped.abort(error); // the other cases would pay for calls whose answers are not used
      throw error;
    }
  });
  return summarize(spec, { played: cases.map((each) => played.get(each)!), pool, totals });
}

const patienceMs = 300_000;

function patient(models: ModelService, signal: AbortSignal): ModelService {
  const options = { timeoutMs: patienceMs, firstMs: 500, maxMs: 30_000, signal };
  const shouldRetry = (error: unknown): boolean => error instanceof ModelError && error.retryable;
  const repeated = <T>(work: () => Promise<T>): Promise<T> => retry(work, { ...options, shouldRetry });
  return {
    ...models,
    complete: (...args) => repeated(() => models.complete(...args)),
    completeStructured: (...args) => repeated(() => models.completeStructured(...args)),
  };
}

const drawPool = (data: EnvironmentData, { environment: { name, options, form } }: CampaignSpec) =>
  data.tasks(name, { split: 'train', ...caseDraw, options, form });

function taskOf(pool: readonly TaskRecord[], { name, goal }: PromptCase): TaskRecord {
  const task = pool.find((drawn) => drawn.goal === goal);
  if (task) return task;
  throw new DomainError(
    'UnknownCase',
    `the case ${name} cannot be played: found no train task "${goal}" in the draw, expected one; the cases need the environment's options unchanged`,
  );
}

type Results = { played: readonly PlayedCase[]; pool: readonly TaskRecord[]; totals: ReadonlyMap<string, CallTotals> };

function summarize(spec: CampaignSpec, { played, pool, totals }: Results) {
  const fates = decide(spec, played, pool);
  const answers = played.flatMap((each) => each.answers);
  const wanted = played.length * spec.synthesis.candidatesPerSignal;
  const verdicts = played.flatMap((each) => each.verdicts);
  const agreed = verdicts.filter(({ expected, found }) => expected === found).length;
  const all = [...fates.values()];
  return {
    stages: stageYields({ answers, wanted, fates: all }),
    admitted: yieldOf(all.filter(({ lostAt }) => lostAt === null).length, wanted),
    knownVerdicts: yieldOf(agreed, verdicts.length),
    reasons: countReasons(all),
    purposes: purposes.map((purpose) => ({
      purpose,
      ...usableOf(answers.filter((answer) => answer.purpose === purpose)),
      ...(totals.get(purpose) ?? noCalls),
    })),
    cases: played.map(({ candidates, ...each }) => ({
      ...each,
      candidates: candidates.map((candidate) => ({ ...candidate, ...fates.get(candidate)! })),
    })),
  };
}

const purposes: readonly Purpose[] = ['reflector', 'explorer', 'abstractor', 'judge'];
const noCalls: CallTotals = { calls: 0, promptTokens: 0, completionTokens: 0, seconds: 0 };

/** Decides all candidates by the rules of admission, without limits on their number. */
function decide(
  spec: CampaignSpec,
  played: readonly PlayedCase[],
  pool: readonly TaskRecord[],
): Map<PlayedCandidate, Fate> {
  const rules = admissionRulesOf(spec, caseKey.iteration, { approval: null, limits: null });
  const candidates = new Map(
    played.flatMap((each) =>
      each.candidates.map((candidate, index) => [toCandidate(each, candidate, index), candidate] as const),
    ),
  );
  const known = pool.map(({ task_id: id, goal, content_key: contentKey }): KnownTask => {
    return { id, goal, contentKey, vector: null };
  });
  const decisions = admit([...candidates.keys()], known, [], { ...rules, quotaOf: () => null, growthCap: null });
  const byId = new Map(decisions.map((decision) => [decision.id, decision]));
  return new Map([...candidates].map(([{ id }, candidate]) => [candidate, fateOf(candidate, byId.get(id)!)]));
}

const toCandidate = ({ aim, contextId }: PlayedCase, made: PlayedCandidate, index: number): Candidate => ({
  id: candidateTaskId(caseKey.iteration, aim, `${contextId}.${index}`),
  aim,
  source: contextId,
  relation: null,
  confidence: made.confidence,
  goal: made.query,
  contentKey: made.contentKey ?? `${contextId}.${index}`,
  actions: made.actions,
  author: 'model',
  refusal: made.refused?.reason ?? null,
  execution: { played: made.isPlayed, reward: made.reward },
  judgement: made.judgement,
  attempts: null,
  vector: null,
});
