import { cancellationSignal } from '@temporalio/activity';
import { DomainError } from '../../domain/errors';
import { reflectionCallId } from '../../domain/tasks/exploration';
import { iterationSeed } from '../../domain/campaign/iteration-seed';
import { promptId } from '../../llm/prompts/prompt';
import { reflectionPrompt } from '../../llm/prompts/reflection';
import type { ChatMessage } from '../../domain/rollout/turn';
import type { CampaignSpec } from '../../specification/campaign-spec';
import type { ContextRow } from '../../store/tasks/exploration';
import type { IterationKey } from '../../store/campaign/iterations';
import { getCampaign, type Dependencies } from '../context/dependencies';
import { requireUsefulAnswers } from '../context/useless-answers';

/**
 * Requests an analysis of a flagged trajectory and objectives for its exploration from the reflector (arXiv:2604.15840,
 * section 3.2). An answer that is malformed even after a repair is stored as the context's failure, and the context is
 * not explored.
 *
 * @throws DomainError `UselessAnswers` once this and the last answers of the reflector could not be used
 *
 * Idempotent: a context with a reflection or a failure does not change. A `random` context needs no reflection.
 */
export const reflect =
  (deps: Dependencies) =>
  async ({ contextId, ...key }: IterationKey & { contextId: string }): Promise<{ usable: boolean }> => {
    const { exploration } = deps.store;
    const context = await exploration.getContext(key.campaignId, contextId);
    if (context.status !== 'planned' || context.aim === 'random') return { usable: context.status !== 'failed' };

    const { spec } = await getCampaign(deps, key.campaignId);
    const messages = await renderPrompt(deps, key, context, spec);
    const answer = await deps.models.completeStructured(
      spec,
      {
        key,
        callId: reflectionCallId(contextId),
        purpose: 'reflector',
        prompt: promptId(reflectionPrompt),
        messages,
        seed: iterationSeed(spec, key.iteration, 'reflect', context.aim, context.ordinal),
        signal: cancellationSignal(),
      },
      reflectionPrompt.schema,
    );
    const result = answer.ok ? answer.value : { type: answer.failure, detail: answer.detail };
    const { status } = await exploration.saveReflection(key, contextId, result);
    if (!answer.ok) await requireUsefulAnswers(deps, spec, key, 'reflector');
    return { usable: status === 'reflected' };
  };

async function renderPrompt(
  { store }: Dependencies,
  key: IterationKey,
  context: ContextRow,
  { synthesis }: CampaignSpec,
): Promise<ChatMessage[]> {
  const { observationCharacters } = synthesis.exploration;
  const signals = await store.feedbackSignals.list(key.campaignId, context.iteration);
  const signal = signals.find(({ id }) => id === context.signalId);
  if (!signal) throw new DomainError('UnknownSignal', `${context.id} cannot be explored: its signal is not stored`);
  const task = await store.tasks.get(key.campaignId, context.taskId);
  const { kind } = signal;
  const trajectoryId = context.trajectoryId ?? signal.trajectoryId;
  const { opening, turns, reward } = await store.trajectories.get(key.campaignId, trajectoryId);
  const counterpartId =
    kind === 'rare' ? null : await store.feedbackSignals.findCounterpart(key.campaignId, { kind, trajectoryId });
  const counterpart = counterpartId === null ? null : await store.trajectories.get(key.campaignId, counterpartId);
  const shown = { opening, turns, reward, counterpart, signal, observationCharacters };
  return reflectionPrompt.render({ goal: task.goal, ...shown });
}
