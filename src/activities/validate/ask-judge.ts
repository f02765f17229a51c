import { deriveSeed } from '../../domain/random/seed-tree';
import { judgeAttemptPrompt, judgePrompt, judgeVersion, type JudgeAttemptInput } from '../../llm/prompts/judge';
import { promptId } from '../../llm/prompts/prompt';
import type { CampaignSpec } from '../../specification/campaign-spec';
import type { IterationKey } from '../../store/campaign/iterations';
import type { JudgementKind, JudgementRow } from '../../store/tasks/judgements';
import type { TaskRow } from '../../store/tasks/tasks';
import type { Dependencies } from '../context/dependencies';
import { requireUsefulAnswers } from '../context/useless-answers';

export type Subject = {
  kind: JudgementKind;
  /** Id of the judgement. */
  id: string;
  task: Pick<TaskRow, 'id' | 'goal' | 'referenceActions' | 'completionCriterion'>;
  transcript: Pick<JudgeAttemptInput, 'opening' | 'turns' | 'stopReason'>;
};

/**
 * Returns the judge's verdict on one subject. A stored judgement is returned without a call. An answer that stays malformed
 * after a repair is stored with its failure and is not a verdict.
 *
 * @throws DomainError `UselessAnswers` once this and the last answers of the judge could not be used
 */
export async function askJudge(
  { store, models }: Dependencies,
  { spec, key }: { spec: CampaignSpec; key: IterationKey },
  { kind, id, task, transcript }: Subject,
  signal: AbortSignal,
): Promise<JudgementRow> {
  const known = (await store.judgements.findMany(key.campaignId, [id])).get(id);
  if (known) return known;

  const { observationCharacters } = spec.synthesis.exploration;
  const { prompt, messages } = questionOf({ kind, task, transcript: { ...transcript, observationCharacters } });
  const request = {
    ...({ key, callId: `judge/${kind}/${id}`, purpose: 'judge', prompt: promptId(prompt), messages } as const),
    seed: deriveSeed(spec.seed, 'judge', id),
    signal,
  };
  const answer = await models.completeStructured(spec, request, prompt.schema);
  const verdict = answer.ok
    ? { ...answer.value, failure: null }
    : { completed: null, criteria: null, reason: answer.detail, failure: answer.failure };
  const made = { id, kind, taskId: task.id, judgeVersion: judgeVersion(spec, prompt), callId: answer.callId };
  const stored = await store.judgements.save(key, { ...made, ...verdict });
  if (!answer.ok) await requireUsefulAnswers({ store }, spec, key, 'judge');
  return stored;
}

type Question = Pick<Subject, 'kind'> & {
  task: Omit<Subject['task'], 'id'>;
  transcript: Omit<JudgeAttemptInput, 'goal' | 'criterion' | 'referenceActions'>;
};

/** Only the question about an attempt contains reference actions: the judge decides about the actions of a candidate. */
export function questionOf({ kind, task, transcript }: Question) {
  const { goal, referenceActions, completionCriterion: criterion } = task;
  const input = { goal, criterion, ...transcript };
  return kind === 'attempt' && referenceActions.length > 0
    ? { prompt: judgeAttemptPrompt, messages: judgeAttemptPrompt.render({ ...input, referenceActions }) }
    : { prompt: judgePrompt, messages: judgePrompt.render(input) };
}
