import type { Pool } from 'pg';
import { DomainError } from '../../domain/errors';
import type { AgentRole } from '../../domain/roles';
import { type Reading, withFunctionsFor, type Prompt } from '../../domain/rollout/reading';
import type { CampaignSpec } from '../../specification/campaign-spec';
import { replaceFile } from '../../files/replace-file';
import type { Store } from '../../store';
import {
  listDemonstrations,
  listTrainingPairs,
  type ExampleQuery,
  type TrainingDemonstration,
  type TrainingPair,
} from '../../store/training/training-examples';
import type { TrajectoryRow } from '../../store/trajectories/trajectories';
import { conversationOf, type ChatMessage } from '../../domain/rollout/turn';
import { pagesOf } from '../../domain/pages';

export const exportFormats = ['trl-sft', 'trl-dpo'] as const;
export type ExportFormat = (typeof exportFormats)[number];

/** The training examples of a campaign's agent in one format. */
export type DatasetRequest = {
  campaign: string;
  format: ExportFormat;
  role: AgentRole;
  /** Is null for all iterations. */
  iteration: number | null;
};

export type ExportRequest = DatasetRequest & {
  /** Path of the file, which is replaced if it exists. */
  output: string;
};

export type Exported = ExportRequest & { rows: number; bytes: number; sha256: string };

type Query = ExampleQuery & Pick<Reading, 'functions'>;

/**
 * Writes the training examples of a campaign as JSON lines. The file appears only when it is complete.
 *
 * @throws DomainError `UnknownCampaign`; `NothingToExport`, with the next commands
 */
export async function exportDataset(store: Store, pool: Pool, request: ExportRequest): Promise<Exported> {
  const lines = await datasetLines(store, pool, request);
  return { ...request, ...(await replaceFile(request.output, lines, () => nothingToExport(request))) };
}

/**
 * Returns the training examples as JSON texts for `datasets.load_dataset("json")` and TRL's trainers, in a fixed order, so
 * that equal rows give equal bytes. The ids are read at once, the texts some examples at a time.
 *
 * @throws DomainError `UnknownCampaign`
 */
export async function datasetLines(
  store: Store,
  pool: Pool,
  { campaign, format, role, iteration }: DatasetRequest,
): Promise<AsyncGenerator<string>> {
  const { id: campaignId, spec } = await store.campaigns.getByName(campaign);
  const { functions = 'text' } = (spec as Partial<CampaignSpec>).policy ?? {};
  const query = { campaignId, role, iteration, functions };
  return format === 'trl-sft' ? demonstrations(store, pool, query) : pairs(store, pool, query);
}

async function* demonstrations(store: Store, pool: Pool, query: Query): AsyncGenerator<string> {
  for (const part of pagesOf(await listDemonstrations(pool, query))) {
    const ids = part.map(({ trajectoryId }) => trajectoryId);
    const bodies = await store.trajectories.findMany(query.campaignId, ids);
    for (const example of part) yield demonstrationLine(example, bodies.get(example.trajectoryId)!, query.functions);
  }
}

async function* pairs(store: Store, pool: Pool, query: Query): AsyncGenerator<string> {
  for (const part of pagesOf(await listTrainingPairs(pool, query))) {
    const ids = part.flatMap(({ chosenId, rejectedId }) => [chosenId, rejectedId]);
    const bodies = await store.trajectories.findMany(query.campaignId, ids);
    for (const pair of part)
      yield pairLine(pair, bodies.get(pair.chosenId)!, bodies.get(pair.rejectedId)!, query.functions);
  }
}

export function nothingToExport({ campaign, format, role, iteration }: DatasetRequest): DomainError {
  const kind = format === 'trl-sft' ? 'trajectory' : 'preference pair';
  const scope = iteration === null ? '' : ` in iteration ${iteration}`;
  const other = format === 'trl-sft' ? '--format trl-dpo' : '--format trl-sft';
  return new DomainError(
    'NothingToExport',
    `no ${kind} trained the ${role} agent of "${campaign}"${scope}; \`coevolve status ${campaign}\` lists the training runs, ` +
      `\`coevolve export ${campaign} ${other}\` exports the other kind`,
  );
}

/** Float columns are always written with a decimal point, because readers infer column types from the first rows. */
type Floats = Record<string, number>;

/**
 * Returns one line of TRL's conversational format for SFTTrainer: `messages`. The other columns identify the source;
 * none is null, because readers infer a separate type for a column of nulls. Functions of a chat template are the column
 * `tools`, as JSON text, because a reader cannot infer one type for all their arguments.
 */
function demonstrationLine(
  example: TrainingDemonstration,
  trajectory: TrajectoryRow,
  functions: Reading['functions'],
): string {
  const { trajectoryId, taskId, iteration, purpose, policyId, reward, trainingRuns } = example;
  return jsonLine(
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
function pairLine(
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
  return jsonLine(
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

function jsonLine(columns: Record<string, unknown>, floats: Floats): string {
  const numbers = Object.entries(floats).map(([name, value]) => `${JSON.stringify(name)}:${withPoint(value)}`);
  return `${JSON.stringify(columns).slice(0, -1)},${numbers.join(',')}}`;
}

const withPoint = (value: number): string => (Number.isInteger(value) ? value.toFixed(1) : String(value));
