import type { z } from 'zod';
import { questionOf } from '../activities/validate/ask-judge';
import { deriveSeed } from '../domain/random/seed-tree';
import { sessionHolder } from '../domain/campaign/ids';
import type { ChatMessage } from '../domain/rollout/turn';
import type { Judgement } from '../domain/tasks/admission/candidate';
import type { OpenEnvironment } from '../envs/contract/environment';
import { playEpisode, type Episode } from '../envs/episode/play-episode';
import { retryWhenUnavailable } from '../envs/episode/retry-when-unavailable';
import type { EnvironmentData, TaskRecord } from '../envs/server/environment-data';
import type { ModelRequest, ModelService } from '../llm/model-service';
import { promptId } from '../llm/prompts/prompt';
import type { CampaignSpec } from '../specification/campaign-spec';

export type CaseDependencies = {
  models: ModelService;
  environmentData: EnvironmentData;
  openEnvironment: OpenEnvironment;
};

/** A case while it is played. `answers` grows by every answer of the model. */
export type CaseRun = CaseDependencies & {
  spec: CampaignSpec;
  contextId: string;
  answers: Answer[];
  signal: AbortSignal;
};

export type Purpose = ModelRequest['purpose'];

/** An answer of the model: usable, or the problem. */
export type Answer = { purpose: Purpose; problem: string | null };

/** No campaign has this id: the first one has id 1. */
export const caseKey = { campaignId: 0, iteration: 1, epoch: 1 };

type Question<T> = {
  purpose: Purpose;
  callId: string;
  prompt: { name: string; version: number; schema: z.ZodType<T> };
  messages: ChatMessage[];
};

/** Returns the value of an answer in JSON; null for an unusable answer. */
export async function askForJson<T>(
  run: CaseRun,
  { purpose, callId, prompt, messages }: Question<T>,
): Promise<T | null> {
  const { models, spec, answers, signal } = run;
  const request = { key: caseKey, callId, purpose, prompt: promptId(prompt), messages, signal };
  const seeded = { ...request, seed: deriveSeed(spec.seed, callId) };
  const answer = await models.completeStructured(spec, seeded, prompt.schema);
  answers.push({ purpose, problem: answer.ok ? null : `${answer.failure}: ${answer.detail}` });
  return answer.ok ? answer.value : null;
}

/** Requests the verdict of the judge on an episode, as about a candidate. */
export async function judgeEpisode(run: CaseRun, id: string, subject: JudgedEpisode): Promise<Judgement> {
  const { goal, criterion, episode } = subject;
  const { observationCharacters } = run.spec.synthesis.exploration;
  const { prompt, messages } = questionOf({
    kind: 'candidate',
    task: { goal, referenceActions: [], completionCriterion: criterion },
    transcript: { ...episode, observationCharacters },
  });
  const verdict = await askForJson(run, {
    purpose: 'judge',
    callId: `judge/${run.contextId}/${id}`,
    prompt,
    messages,
  });
  return verdict ?? { completed: null, reason: 'the judge gave no usable answer' };
}

type JudgedEpisode = { goal: string; criterion: string | null; episode: Episode };

/** Executes actions at a task in a fresh session. */
export function playActions(
  { openEnvironment, spec, contextId, signal }: CaseRun,
  { definition }: Pick<TaskRecord, 'definition'>,
  actions: readonly string[],
): Promise<Episode> {
  return retryWhenUnavailable(signal, async () => {
    const session = await openEnvironment(spec.environment.name, { signal });
    try {
      const request = {
        task: definition,
        seed: spec.seed,
        episodeId: contextId,
        holder: sessionHolder(caseKey.campaignId),
      };
      return await playEpisode(session, request, (_, turn) => Promise.resolve(actions[turn]!), actions.length);
    } finally {
      session.close();
    }
  });
}
