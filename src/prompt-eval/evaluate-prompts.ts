import { admissionRulesOf } from '../activities/validate/admission-rules';
import { retry } from '../requests/retry';
import { slidingWindow } from '../domain/concurrency';
import { DomainError } from '../domain/errors';
import { candidateTaskId } from '../domain/campaign/ids';
import { admit } from '../domain/tasks/admission/admit';
import type { Candidate, KnownTask } from '../domain/tasks/admission/candidate';
import { drawUntilDone } from '../envs/server/draw-until-done';
import type { EnvironmentData, TaskRecord } from '../envs/server/environment-data';
import { firstTimeoutSeconds } from '../llm/answer-time';
import { ModelError } from '../llm/model-error';
import { createModelService, type ModelService } from '../llm/model-service';
import type { Providers } from '../llm/providers';
import { unstoredCalls, type CallTotals } from '../llm/unstored-calls';
import type { CampaignSpec } from '../specification/campaign-spec';
import { caseKey, type CaseDependencies, type Purpose } from './case-judge';
import { attemptKinds, promptCases, worldOf, type CaseWorld, type PromptCase } from './cases';
import { playCase, type KnownVerdict, type PlayedCandidate, type PlayedCase } from './play-case';
import { countReasons, fateOf, stageYields, usableOf, yieldOf, type Fate, type Yield } from './stage-yields';

export type PromptEvaluation = ReturnType<typeof summarize>;

export type Evaluated = {
  environments: Omit<CaseDependencies, 'models'>;
  providers: Providers;
  /** Returns the spec of the cases of a world. */
  specOf(world: CaseWorld): CampaignSpec;
  cases?: readonly PromptCase[];
  /** Called when a case has been played. */
  onPlayed?(name: string): void;
};

/**
 * Plays the fixed cases with real sessions of their environments and the real stages of admission, and returns the yield of
 * each stage. Nothing is stored. Errors of the provider that may pass are retried for `patienceMs`.
 *
 * @throws DomainError `UnknownProvider`, `NoProviders`, `UnknownCase`; ModelError; EnvironmentError
 */
export async function evaluatePrompts(evaluated: Evaluated): Promise<PromptEvaluation> {
  const { environments, providers, specOf, cases = promptCases, onPlayed } = evaluated;
  const { store, totals } = unstoredCalls();
  const stopped = new AbortController();
  const worlds = [...new Set(cases.map(worldOf))].map((world) => ({ world, spec: specOf(world) }));
  const patience = patienceMs(
    worlds.map(({ spec }) => spec),
    providers,
  );
  const models = patient(createModelService({ store, providers }), patience, stopped.signal);
  const draws = await Promise.all(
    worlds.map(async (each) => ({ ...each, pool: await drawPool(environments.environmentData, each) })),
  );
  const played = new Map<PromptCase, PlayedCase>();
  await slidingWindow(cases.length, cases.entries(), async ([ordinal, each]) => {
    try {
      const { spec, pool } = draws.find(({ world }) => world === worldOf(each))!;
      const input = { spec, played: each, task: taskOf(pool, each), ordinal, pool, signal: stopped.signal };
      played.set(each, await playCase({ ...environments, models }, input));
      onPlayed?.(each.name);
    } catch (error) {
      stopped.abort(error); // the other cases would pay for calls whose answers are not used
      throw error;
    }
  });
  const groups = draws.map(({ world, ...draw }) => ({
    ...draw,
    environment: world.name,
    played: cases.filter((each) => worldOf(each) === world).map((each) => played.get(each)!),
  }));
  return summarize(groups, totals);
}

/**
 * Returns how long a call is retried: an outage of five minutes, and in addition the longest time that one request may take,
 * so that a request which timed out is sent again.
 */
export function patienceMs(specs: readonly CampaignSpec[], providers: Providers): number {
  const models = specs.flatMap(({ llm }) => Object.values(llm?.models ?? {})).filter((model) => model !== null);
  const seconds = models.map(({ provider, ...model }) => {
    const tokens = 'maxTokens' in model ? model.maxTokens + model.thinkingTokens : 0;
    return providers.get(provider)?.timeoutSeconds ?? firstTimeoutSeconds(tokens);
  });
  return outageMs + 1000 * Math.max(0, ...seconds);
}

const outageMs = 300_000;

function patient(models: ModelService, timeoutMs: number, signal: AbortSignal): ModelService {
  const options = { timeoutMs, firstMs: 500, maxMs: 30_000, signal };
  const shouldRetry = (error: unknown): boolean => error instanceof ModelError && error.retryable;
  const repeated = <T>(work: () => Promise<T>): Promise<T> => retry(work, { ...options, shouldRetry });
  return {
    ...models,
    complete: (...args) => repeated(() => models.complete(...args)),
    completeStructured: (...args) => repeated(() => models.completeStructured(...args)),
  };
}

type Drawn = { world: CaseWorld; spec: CampaignSpec };

const drawPool = (data: EnvironmentData, { world, spec: { environment } }: Drawn): Promise<TaskRecord[]> => {
  const { name, options, form } = environment;
  return drawUntilDone(() => data.tasks(name, { split: 'train', ...world.draw, options, form }));
};

function taskOf(pool: readonly TaskRecord[], { name, task }: PromptCase): TaskRecord {
  const found = pool.find((drawn) => drawn.goal === task || drawn.task_id === task);
  if (found) return found;
  throw new DomainError(
    'UnknownCase',
    `the case ${name} cannot be played: found no train task "${task}" in the draw, expected one; the cases need the environment's options unchanged`,
  );
}

type Group = {
  environment: string;
  spec: CampaignSpec;
  pool: readonly TaskRecord[];
  played: readonly PlayedCase[];
};

function summarize(groups: readonly Group[], totals: ReadonlyMap<string, CallTotals>) {
  const fates = new Map(groups.flatMap((group) => [...decide(group)]));
  const played = groups.flatMap((group) => group.played);
  const answers = played.flatMap((each) => each.answers);
  const all = [...fates.values()];
  const counted = groups.map((group) => countsOf(group, fates));
  const wanted = counted.reduce((sum, { admitted }) => sum + admitted.of, 0);
  const verdicts = played.flatMap((each) => each.verdicts);
  return {
    stages: stageYields({ answers, wanted, fates: all }),
    admitted: yieldOf(all.filter(({ lostAt }) => lostAt === null).length, wanted),
    knownVerdicts: agreedOf(verdicts),
    knownAttempts: attemptKinds
      .map((attempt) => ({ attempt, ...agreedOf(verdicts.filter((verdict) => verdict.attempt === attempt)) }))
      .filter(({ of }) => of > 0),
    environments: counted,
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

function countsOf({ environment, spec, played }: Group, fates: ReadonlyMap<PlayedCandidate, Fate>) {
  const admitted = played.flatMap((each) => each.candidates).filter((made) => fates.get(made)!.lostAt === null);
  return {
    environment,
    cases: played.length,
    admitted: yieldOf(admitted.length, played.length * spec.synthesis.candidatesPerSignal),
    knownVerdicts: agreedOf(played.flatMap((each) => each.verdicts)),
  };
}

const agreedOf = (verdicts: readonly KnownVerdict[]): Yield =>
  yieldOf(verdicts.filter(({ expected, found }) => expected === found).length, verdicts.length);

const purposes: readonly Purpose[] = ['reflector', 'explorer', 'abstractor', 'judge'];
const noCalls: CallTotals = { calls: 0, promptTokens: 0, completionTokens: 0, seconds: 0 };

/** Decides all candidates by the rules of admission, without limits on their number. */
function decide({ spec, played, pool }: Group): Map<PlayedCandidate, Fate> {
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
