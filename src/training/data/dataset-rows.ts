import { DomainError } from '../../domain/errors';
import { withFunctionsFor, type Reading } from '../../domain/rollout/reading';
import { separatedConversationOf } from '../../domain/rollout/turn';
import type { PreferencePairRow } from '../../store/trajectories/preference-pairs';
import type { RolloutRow } from '../../store/trajectories/rollouts';
import type { TrajectoryRow } from '../../store/trajectories/trajectories';

/**
 * Returns one line of a training dataset. Sampled actions have their token ids; reference actions have text, which the
 * trainer encodes like the policy server encodes prompts. An answer with thinking has its `action` beside it.
 */
export function trajectoryRow(trajectory: TrajectoryRow, reading: Reading): object {
  const { id, turns } = trajectory;
  if (turns.every(({ tokenIds }) => tokenIds))
    return {
      trajectory_id: id,
      turns: turns.map(({ promptTokenIds, tokenIds, bareAction }) => ({
        prompt_token_ids: promptTokenIds,
        token_ids: tokenIds,
        ...actionOf(bareAction),
      })),
    };
  const thinking = reading.thinking === 'drop' && turns.some(({ bareAction }) => bareAction !== null);
  return {
    trajectory_id: id,
    ...withFunctionsFor(separatedConversationOf(trajectory), reading.functions),
    ...(thinking && { thinking: 'drop' }),
  };
}

const actionOf = (bareAction: string | null): { action?: string } =>
  bareAction === null ? {} : { action: bareAction };

export function pairRow(
  pair: PreferencePairRow,
  { chosen, rejected }: Record<'chosen' | 'rejected', TrajectoryRow>,
  reading: Reading,
): object {
  return {
    pair_id: pair.id,
    kind: pair.kind,
    lambda_dpo: pair.lambdaDpo,
    lambda_sft: pair.lambdaSft,
    chosen: trajectoryRow(chosen, reading),
    rejected: trajectoryRow(rejected, reading),
  };
}

/** Score of a rollout in an update: its advantage in its group, or its reward for methods with a value head. */
export type RolloutScore = { group: string; advantage: number } | { group: string; reward: number };

/**
 * Returns one line of a batch for reinforcement learning.
 *
 * @throws DomainError `MissingLogprobs` when an action has different counts of tokens and log-probabilities
 */
export function rolloutRow({ id, turns }: Pick<RolloutRow, 'id' | 'turns'>, score: RolloutScore): object {
  return {
    trajectory_id: id,
    ...score,
    turns: turns.map(({ promptTokenIds, tokenIds, logprobs, bareAction }, index) => {
      if (!tokenIds || logprobs?.length !== tokenIds.length)
        throw new DomainError(
          'MissingLogprobs',
          `${id}: action ${index} has ${tokenIds?.length ?? 0} token ids and ${logprobs?.length ?? 0} log-probabilities;` +
            ' `coevolve reconcile` with the name of the campaign deletes such attempts and plays them again',
        );
      return { prompt_token_ids: promptTokenIds, token_ids: tokenIds, logprobs, ...actionOf(bareAction) };
    }),
  };
}
