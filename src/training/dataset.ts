import type { PreferencePairRow } from '../store/preference-pairs';
import type { TrajectoryRow } from '../store/trajectories';

/**
 * One line of a training dataset. Sampled actions carry the ids that were sampled; reference actions carry text, which
 * the trainer encodes as the policy server encodes prompts.
 */
export function trajectoryRow(trajectory: TrajectoryRow): object {
  const { id, opening, steps } = trajectory;
  if (steps.every(({ tokenIds }) => tokenIds))
    return {
      trajectory_id: id,
      steps: steps.map(({ promptTokenIds, tokenIds }) => ({ prompt_token_ids: promptTokenIds, token_ids: tokenIds })),
    };
  const turns = steps.flatMap(({ action, observation }) => [{ role: 'assistant', content: action }, ...observation]);
  return { trajectory_id: id, messages: [...opening, ...turns] };
}

export function pairRow(pair: PreferencePairRow, chosen: TrajectoryRow, rejected: TrajectoryRow): object {
  return {
    pair_id: pair.id,
    kind: pair.kind,
    lambda_dpo: pair.lambdaDpo,
    lambda_sft: pair.lambdaSft,
    chosen: trajectoryRow(chosen),
    rejected: trajectoryRow(rejected),
  };
}
