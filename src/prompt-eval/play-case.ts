import { composeCandidate, isPlayable } from '../activities/synthesize/compose-candidate';
import { taskLength } from '../activities/synthesize/task-length';
import { playRun, type Played } from '../activities/synthesize/play-run';
import { writeTasks, type AskAbstractor } from '../activities/synthesize/write-tasks';
import { deriveSeed } from '../domain/random/seed-tree';
import { explorationContextId, explorationRunId } from '../domain/campaign/ids';
import { finishedAnswer } from '../domain/rollout/finish';
import type { Judgement } from '../domain/tasks/admission/candidate';
import { abstractable, abstractionCallId, type AbstractedTask, type Reflection } from '../domain/tasks/exploration';
import { nearestTasks, type KnownTasks } from '../domain/tasks/nearest-goals';
import type { Episode } from '../envs/episode/play-episode';
import type { TaskRecord } from '../envs/server/environment-data';
import { reflectionPrompt } from '../llm/prompts/reflection';
import type { TaskLength } from '../llm/prompts/task-length';
import type { CampaignSpec } from '../specification/campaign-spec';
import {
  askForJson,
  caseKey,
  judgeEpisode,
  playActions,
  type Answer,
  type CaseDependencies,
  type CaseRun,
} from './case-judge';
import { signalDetail, worldOf, type AttemptKind, type CaseWorld, type PromptCase } from './cases';

/** A case with its task, its position among the cases, and the tasks of the pool. */
export type CaseInput = {
  spec: CampaignSpec;
  played: PromptCase;
  task: TaskRecord;
  ordinal: number;
  pool: readonly TaskRecord[];
  signal: AbortSignal;
};

/** A candidate with the data of its admission. */
export type PlayedCandidate = AbstractedTask & {
  /** Why it is no task of the environment; null if it is one. */
  refused: { reason: string; detail: string } | null;
  contentKey: string | null;
  /** True if its actions ended their session. */
  isPlayed: boolean;
  /** null if the environment cannot score it. */
  reward: number | null;
  judgement: Judgement | null;
};

/** Verdict of the judge on an attempt whose result is known; `found` is null for an unusable answer. */
export type KnownVerdict = { attempt: AttemptKind; expected: boolean; found: boolean | null };

export type PlayedCase = Omit<PromptCase, 'task' | 'attempts'> & {
  goal: string;
  contextId: string;
  answers: Answer[];
  candidates: PlayedCandidate[];
  verdicts: KnownVerdict[];
};

/**
 * Plays one case as a campaign plays an exploration context: reflection, runs, abstraction, then composition, replay and
 * judgement of each candidate. The judge gets the attempts of the case too, whose results are known.
 */
export async function playCase(deps: CaseDependencies, input: CaseInput): Promise<PlayedCase> {
  const { spec, task, ordinal, signal } = input;
  const { name, environment, aim, attempts } = input.played;
  const contextId = explorationContextId(caseKey.iteration, aim, ordinal);
  const run: CaseRun = { ...deps, spec, contextId, answers: [], signal };
  const reference = await playActions(run, task, task.reference_actions);
  const known: { attempt: AttemptKind; episode: Episode }[] = [{ attempt: 'reference', episode: reference }];
  for (const { kind, actions } of attempts) {
    const written = typeof actions === 'function' ? actions(task.reference_actions) : actions;
    known.push({ attempt: kind, episode: await playActions(run, task, written) });
  }
  const verdicts: KnownVerdict[] = [];
  for (const [index, { attempt, episode }] of known.entries()) {
    const { completed } = await judgeEpisode(run, `known/${index}`, { goal: task.goal, criterion: null, episode });
    verdicts.push({ attempt, expected: episode.reward === 1, found: completed });
  }
  const candidates = await synthesize(run, input, { reference, wrong: known[1]!.episode });
  return { name, environment, aim, goal: task.goal, contextId, answers: run.answers, candidates, verdicts };
}

type Attempts = { reference: Episode; wrong: Episode };

async function synthesize(run: CaseRun, input: CaseInput, attempts: Attempts): Promise<PlayedCandidate[]> {
  const reflection = await reflect(run, input, attempts);
  if (!reflection) return [];
  const known = input.pool.map(({ goal, reference_actions: actions }) => ({ goal, actions }));
  const shown = nearestTasks(known, {
    goal: input.task.goal,
    objectives: reflection.explorationObjectives,
    count: run.spec.synthesis.examples,
  });
  const length = await taskLength(run.environmentData, run.spec, run.signal);
  const runs = abstractable(await explore(run, input, { reflection, ...shown, length }));
  if (runs.length === 0) return [];
  const ask: AskAbstractor = (prompt, messages, number) =>
    askForJson(run, { purpose: 'abstractor', callId: abstractionCallId(run.contextId, number), prompt, messages });
  const written = await writeTasks(ask, run.spec.synthesis, {
    aim: { kind: input.played.aim, goal: input.task.goal, detail: signalDetail[input.played.aim], reflection },
    length,
    opening: runs[0]!.opening,
    runs: runs.map(({ turns }) => turns),
    limit: run.spec.synthesis.candidatesPerSignal,
    ...shown,
    observationCharacters: run.spec.synthesis.exploration.observationCharacters,
    parentActions: input.task.reference_actions,
    isPlayable: (actions) =>
      isPlayable(run.environmentData, run.signal, {
        spec: run.spec,
        parent: input.task.definition,
        query: input.task.goal,
        actions,
      }),
  });
  const executed = runs.flatMap(({ turns }) => turns.map(({ action }) => action));
  const candidates: PlayedCandidate[] = [];
  for (const { task: candidate } of written)
    candidates.push(
      await validate(run, candidate, { task: input.task, executed, least: length.least, number: candidates.length }),
    );
  return candidates;
}

const reflect = (run: CaseRun, { played: { aim }, task }: CaseInput, { wrong, reference }: Attempts) =>
  askForJson<Reflection>(run, {
    purpose: 'reflector',
    callId: `reflect/${run.contextId}`,
    prompt: reflectionPrompt,
    messages: reflectionPrompt.render({
      goal: task.goal,
      opening: wrong.opening,
      turns: wrong.turns,
      reward: wrong.reward,
      counterpart: aim === 'rare' ? null : reference,
      signal: { kind: aim, detail: signalDetail[aim] },
      observationCharacters: run.spec.synthesis.exploration.observationCharacters,
    }),
  });

async function explore(
  run: CaseRun,
  { played, task }: CaseInput,
  shown: KnownTasks & { reflection: Reflection; length: TaskLength },
): Promise<Played[]> {
  const { spec, contextId, answers, signal } = run;
  const runs: Played[] = [];
  for (let round = 0; round < spec.synthesis.exploration.rounds; round++) {
    const ended = await playRun(run, {
      key: caseKey,
      spec,
      aim: played.aim,
      round,
      earlierRuns: runs,
      signal,
      ...shown,
      task: { environment: spec.environment.name, definition: task.definition },
      runId: explorationRunId(contextId, round),
      seed: deriveSeed(spec.seed, 'explore', contextId, round),
    });
    answers.push(...answersOf(ended, worldOf(played)));
    runs.push(ended);
  }
  return runs;
}

function answersOf({ turns, fault }: Played, { name, isUnread }: CaseWorld): Answer[] {
  const problemOf = (turn: Played['turns'][number]): string | null => {
    if (turn.action === '') return 'no action';
    return finishedAnswer(turn.action) === undefined && isUnread(turn) ? `no action of ${name}: ${turn.action}` : null;
  };
  const problems = [...turns.map(problemOf), ...(fault === null ? [] : [fault])];
  return problems.map((problem) => ({ purpose: 'explorer', problem }));
}

type Origin = { task: TaskRecord; executed: readonly string[]; least: number; number: number };

async function validate(
  run: CaseRun,
  candidate: AbstractedTask,
  { task, executed, least, number }: Origin,
): Promise<PlayedCandidate> {
  const { environmentData, spec, signal } = run;
  const source = { spec, candidate, least, parent: task.definition, executed };
  const composed = await composeCandidate(environmentData, signal, source);
  if ('refused' in composed)
    return { ...candidate, ...composed, contentKey: null, isPlayed: false, reward: null, judgement: null };
  const { definition, reference_actions: actions, content_key: contentKey, grader } = composed.task;
  const episode = await playActions(run, { definition }, actions);
  const subject = { goal: candidate.query, criterion: candidate.completionCriterion, episode };
  return {
    ...candidate,
    actions,
    refused: null,
    contentKey,
    isPlayed: true,
    reward: grader === 'environment' ? episode.reward : null,
    judgement: await judgeEpisode(run, `candidate/${number}`, subject),
  };
}
