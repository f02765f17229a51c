import { createHash } from 'node:crypto';
import { cancellationSignal } from '@temporalio/activity';
import { abstractable, abstractionCallId, shareOf, type AbstractedTask } from '../../domain/tasks/exploration';
import { candidateTaskId } from '../../domain/campaign/ids';
import { iterationSeed } from '../../domain/campaign/iteration-seed';
import type { Aim } from '../../llm/prompts/findings';
import type { Structured } from '../../llm/model-service';
import { promptId } from '../../llm/prompts/prompt';
import type { CampaignSpec } from '../../specification/campaign-spec';
import type { ContextRow, RunRow } from '../../store/tasks/exploration';
import type { IterationKey } from '../../store/campaign/iterations';
import type { NewTask, TaskRow } from '../../store/tasks/tasks';
import { composeCandidate, isPlayable } from './compose-candidate';
import { knownTasks } from './known-tasks';
import { taskLength } from './task-length';
import { sizeOf } from './source-tasks';
import { writeTasks, type AskAbstractor } from './write-tasks';
import { toTask } from '../plan/seed-tasks';
import { getCampaign, type Dependencies } from '../context/dependencies';
import { requireUsefulAnswers } from '../context/useless-answers';

/**
 * Requests tasks from the abstractor that the runs of a context show to be possible (arXiv:2604.15840, section 3.3). The
 * environment makes a task of each by executing its actions in a fresh instance. The others are stored as rejected
 * candidates with the reason.
 *
 * @throws DomainError `UselessAnswers` once this and the last answers of the abstractor could not be used
 *
 * Idempotent: a stored abstraction is returned. Its candidates are stored before it, under ids derived from the input.
 */
export const abstractTasks =
  (deps: Dependencies) =>
  async ({ contextId, ...key }: IterationKey & { contextId: string }): Promise<{ candidates: number }> => {
    const { exploration, tasks } = deps.store;
    const stored = await exploration.findAbstraction(key.campaignId, contextId);
    if (stored) return { candidates: stored.candidates };
    const context = await exploration.getContext(key.campaignId, contextId);
    const runs = abstractable(await exploration.listRuns(key.campaignId, contextId));
    if (runs.length === 0) return { candidates: 0 };

    const { spec } = await getCampaign(deps, key.campaignId);
    const task = await tasks.get(key.campaignId, context.taskId);
    const limit = await limitOf(deps, spec, key, context);
    const length = await taskLength(deps.environmentData, spec, cancellationSignal());
    const answers: Structured<unknown>[] = [];
    const ask: AskAbstractor = async (prompt, messages, number) => {
      const numbers = number === undefined ? [] : [number];
      const request = {
        key,
        callId: abstractionCallId(contextId, number),
        purpose: 'abstractor' as const,
        prompt: promptId(prompt),
        messages,
        seed: iterationSeed(spec, key.iteration, 'abstract', context.aim, context.ordinal, ...numbers),
        signal: cancellationSignal(),
      };
      const answer = await deps.models.completeStructured(spec, request, prompt.schema);
      answers.push(answer);
      return answer.ok ? answer.value : null;
    };
    const written = await writeTasks(ask, spec.synthesis, {
      aim: await aimOf(deps, key, context, task),
      length,
      opening: runs[0]!.opening,
      runs: runs.map(({ turns }) => turns),
      limit,
      observationCharacters: spec.synthesis.exploration.observationCharacters,
      parentActions: task.referenceActions,
      isPlayable: (actions) =>
        isPlayable(deps.environmentData, cancellationSignal(), {
          spec,
          parent: task.definition,
          query: task.goal,
          actions,
        }),
      ...(await knownTasks(deps, key, spec, { ...context, goal: task.goal })),
    });
    const candidates: NewTask[] = [];
    for (const { task: candidate, number } of written)
      candidates.push(await toCandidate(deps, { spec, context, task, runs, least: length.least }, candidate, number));
    await tasks.propose(key, candidates);
    const failed = answers.find((answer) => !answer.ok);
    const failure = failed && written.length === 0 ? { type: failed.failure, detail: failed.detail } : null;
    const callId = answers.at(-1)?.callId ?? runs.at(-1)!.turns.at(-1)!.callId; // no action was worded: of the last one
    const made = { contextId, candidates: candidates.length, failure, callId };
    const { candidates: count } = await exploration.saveAbstraction(key, made);
    if (failed) await requireUsefulAnswers(deps, spec, key, 'abstractor');
    return { candidates: count };
  };

/** Returns why the context is explored; a placebo shows the signal whose place it takes. */
async function aimOf(
  { store }: Dependencies,
  key: IterationKey,
  { aim, signalId, context, iteration }: ContextRow,
  { goal }: TaskRow,
): Promise<Aim> {
  const signals = signalId === null ? [] : await store.feedbackSignals.list(key.campaignId, iteration);
  const detail = signals.find(({ id }) => id === signalId)?.detail ?? null;
  return { kind: aim, goal, detail, reflection: context };
}

/** Returns the even share of a context in the candidates of its aim; in a refill as many as a first context has. */
async function limitOf(
  deps: Dependencies,
  spec: CampaignSpec,
  key: IterationKey,
  { aim, ordinal, refill }: ContextRow,
): Promise<number> {
  const { candidates } = await sizeOf(deps, key, spec, aim);
  const contexts = await deps.store.exploration.countContexts(key, aim);
  if (refill === 0) return shareOf(candidates, contexts, ordinal);
  const { candidatesPerSignal, exploration } = spec.synthesis;
  return Math.ceil(contexts > 0 ? candidates / contexts : candidatesPerSignal / exploration.contextsPerSignal);
}

type Source = {
  spec: CampaignSpec;
  context: ContextRow;
  task: TaskRow;
  runs: readonly RunRow[];
  least: number;
};

async function toCandidate(
  { environmentData }: Dependencies,
  { spec, context, task, runs, least }: Source,
  candidate: AbstractedTask,
  number: number,
): Promise<NewTask> {
  const { name } = spec.environment;
  const identity = {
    id: candidateTaskId(context.iteration, context.aim, `${context.ordinal}.${number}`),
    split: 'train',
    origin: context.aim === 'random' ? 'random' : 'synthesized',
    parentTaskId: task.id,
    parentSignalId: spec.synthesis.aims === 'shuffled' ? null : context.signalId, // no signal flags the parent
    contextId: context.id,
    refill: context.refill,
    description: candidate.description,
    confidence: candidate.confidence,
    completionCriterion: candidate.completionCriterion,
  } as const;

  const composed = await composeCandidate(environmentData, cancellationSignal(), {
    spec,
    candidate,
    least,
    parent: task.definition,
    executed: runs.flatMap(({ turns }) => turns.map(({ action }) => action)),
  });
  if ('refused' in composed) {
    const { reason, detail } = composed.refused;
    return { ...refusedTask(candidate, name, reason, detail), ...identity };
  }
  return { ...toTask(composed.task, name), ...identity, grader: composed.task.grader };
}

/** Candidate that the environment cannot play: its definition holds the details of the refusal. */
const refusedTask = ({ query, actions }: AbstractedTask, environment: string, refusal: string, detail: string) => ({
  environment,
  goal: query,
  definition: { refused: detail },
  features: {},
  referenceActions: actions,
  contentKey: createHash('sha256')
    .update(JSON.stringify([environment, query, actions]))
    .digest('hex'),
  refusal,
});
