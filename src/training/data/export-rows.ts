import { withFunctionsFor, type Prompt, type Reading } from '../../domain/rollout/reading';
import type { TrainingDemonstration, TrainingPair } from '../../store/training/training-examples';
import type { TrajectoryRow } from '../../store/trajectories/trajectories';
import { conversationOf, type ChatMessage } from '../../domain/rollout/turn';

/** Float columns are always written with a decimal point, because readers infer column types from the first rows. */
type Floats = Record<string, number>;

/**
 * Returns one line of TRL's conversational format for SFTTrainer: `messages`. The other columns identify the source;
 * none is null, because readers infer a separate type for a column of nulls. Functions of a chat template are the column
 * `tools`, as JSON text, because a reader cannot infer one type for all their arguments.
 */
export function demonstrationLine(
  example: TrainingDemonstration,
  trajectory: TrajectoryRow,
  functions: Reading['functions'],
): string {
  const { trajectoryId, taskId, iteration, purpose, policyId, reward, trainingRuns } = example;
  return line(
    {
      ...columnsOf(withFunctionsFor(conversationOf(trajectory), functions)),
      trajectory_id: trajectoryId,
      task_id: taskId,
      iteration,
      purpose,
      policy_id: policyId ?? 'reference',
      training_runs: trainingRuns,
    },
    { reward: reward ?? 0 },
  );
}

/**
 * Returns one line of TRL's conversational format for DPOTrainer: `prompt`, `chosen`, `rejected`, each a list of
 * messages. The prompt is the common opening of both trajectories; `chosen` and `rejected` are the rest up to the last
 * action. TRL's DPO loss counts every token of them, ours no token of an observation: the losses are equal where
 * `observations`, the number of observations in both, is 0. TRL ignores `lambda_dpo` and `lambda_sft`.
 */
export function pairLine(
  pair: TrainingPair,
  chosen: TrajectoryRow,
  rejected: TrajectoryRow,
  functions: Reading['functions'],
): string {
  const read = (messages: readonly ChatMessage[]): Prompt => withFunctionsFor(messages, functions);
  const { messages: opening, ...others } = columnsOf(read(chosen.opening));
  const prompt = sharedOpening(opening, read(rejected.opening).messages);
  const completions = [chosen, rejected].map((one) =>
    untilLastAction(read(conversationOf(one)).messages).slice(prompt.length),
  );
  return line(
    {
      prompt,
      chosen: completions[0],
      rejected: completions[1],
      ...others,
      observations: completions.flat().filter(({ role }) => role !== 'assistant').length,
      pair_id: pair.pairId,
      kind: pair.kind,
      task_id: pair.taskId,
      iteration: pair.iteration,
      chosen_trajectory_id: pair.chosenId,
      rejected_trajectory_id: pair.rejectedId,
      hard_negative: pair.hardNegative,
      training_runs: pair.trainingRuns,
    },
    {
      chosen_reward: pair.chosenReward,
      rejected_reward: pair.rejectedReward,
      lambda_dpo: pair.lambdaDpo,
      lambda_sft: pair.lambdaSft,
    },
  );
}

const columnsOf = ({ messages, tools }: Prompt): { messages: ChatMessage[]; tools?: string } => ({
  messages,
  ...(tools && { tools: JSON.stringify(tools) }),
});

const untilLastAction = (messages: readonly ChatMessage[]): readonly ChatMessage[] =>
  messages.slice(0, messages.findLastIndex(({ role }) => role === 'assistant') + 1);

function sharedOpening(one: readonly ChatMessage[], other: readonly ChatMessage[]): ChatMessage[] {
  const end = one.findIndex((message, i) => {
    const counterpart = other[i];
    return message.role !== counterpart?.role || message.content !== counterpart.content;
  });
  return one.slice(0, end < 0 ? one.length : end);
}

function line(columns: Record<string, unknown>, floats: Floats): string {
  const numbers = Object.entries(floats).map(([name, value]) => `${JSON.stringify(name)}:${withPoint(value)}`);
  return `${JSON.stringify(columns).slice(0, -1)},${numbers.join(',')}}`;
}

const withPoint = (value: number): string => (Number.isInteger(value) ? value.toFixed(1) : String(value));
