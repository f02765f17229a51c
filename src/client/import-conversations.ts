import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { artifactStore } from '../artifacts/artifact-store';
import { UsageError } from '../errors/errors';
import { decodeText } from '../input/decode-text';
import { jsonRows } from '../input/json-rows';
import type { Config } from '../config';
import { deriveSeed } from '../domain/random/seed-tree';
import { createEnvironments } from '../envs/environments';
import { saveExperts } from '../envs/experts/expert-file';
import type { Progress } from '../envs/contract/environment-error';
import { drawUntilDone } from '../envs/server/draw-until-done';
import { importExperts, type ImportReport } from '../envs/experts/import-experts';
import { measureExperts, type TrajectoryStatistics } from '../envs/experts/measure-experts';
import { readConversations, type ConversationFormat } from '../envs/experts/read-conversations';
import type { TaskRecord, TaskRequest } from '../envs/server/environment-data';
import { readSpecFile } from '../specification/read-spec-file';

export type ConversationImport = {
  /** Either the environment or a spec is required; a spec determines the environment and its train tasks. */
  environment?: string | undefined;
  spec?: string | undefined;
  format: ConversationFormat;
  /** Field of a conversation with the task's id. */
  idField?: string | undefined;
  /** JSON file that maps conversation ids to task ids. */
  map?: string | undefined;
  /** Lower bound of the reward, exclusive. */
  above: number;
  count: number;
  seed: number;
  options: Record<string, unknown>;
  /** False keeps the rewards of the file and needs no environment server. */
  replay: boolean;
};

export type ImportedConversations = {
  environment: string;
  /** Hash of the stored file; null without accepted conversations. */
  sha256: string | null;
  path: string | null;
  replayed: boolean;
  imported: number;
  refused: ImportReport['refused'];
  /** Answers of the file that are no actions; see `readConversations`. */
  leftOut: number;
  claimedMean: number | null;
  replayedMean: number | null;
  table: TrajectoryStatistics[];
};

const maxSessions = 8;

/**
 * Replays the recorded conversations of a file and stores those with a sufficient reward as experts of the environment.
 *
 * @param onProgress called with the number of drawn tasks, then of finished conversations, and their total
 * @throws UsageError for a file or an option that is unusable; EnvironmentError when the server is unavailable
 */
export async function importConversations(
  config: Config,
  file: string,
  request: ConversationImport,
  onProgress: (part: 'tasks' | 'conversations', done: number, total: number) => void,
): Promise<ImportedConversations> {
  const { format, idField, above, replay } = request;
  const { environment, ...draw } = await drawOf(request);
  const read = readConversations(decodeText(await readFile(file), file), format, idField);
  const environments = replay ? createEnvironments(config) : null;
  const taskOf = await readTaskIds(request.map);
  const onDrawn = ({ ready, count }: Progress): void => onProgress('tasks', ready, count);
  const tasks = environments
    ? await drawUntilDone(() => environments.data.tasks(environment, draw), { onProgress: onDrawn })
    : read.conversations.map((conversation) => taskWithId(taskOf.get(conversation.id) ?? conversation.id));
  const capacity = (await environments?.data.capacity(environment)) ?? maxSessions;
  const { experts, refused, leftOut } = await importExperts(environments?.open ?? null, tasks, read.conversations, {
    environment,
    taskOf,
    above,
    sessions: Math.min(maxSessions, capacity),
    onProgress: (done) => onProgress('conversations', done, read.conversations.length),
  });
  const stored = experts.length > 0 ? await saveExperts(artifactStore(config.artifacts), experts) : null;
  return {
    environment,
    sha256: stored?.sha256 ?? null,
    path: stored?.path ?? null,
    replayed: replay,
    imported: experts.length,
    refused: [...read.refused, ...refused],
    leftOut: read.leftOut + leftOut,
    claimedMean: mean(experts.map(({ claimed_reward: claimed }) => claimed)),
    replayedMean: replay ? mean(experts.map(({ reward }) => reward)) : null,
    table: measureExperts(experts),
  };
}

type Draw = TaskRequest & { environment: string };

/** Returns the draw of the spec's campaign or, without a spec, the draw that the request describes. */
async function drawOf({ environment, spec: file, count, seed, options }: ConversationImport): Promise<Draw> {
  if (file !== undefined) {
    const spec = await readSpecFile(file);
    const { name, trainTasks } = spec.environment;
    if (environment !== undefined && environment !== name)
      throw new UsageError(`--environment: found ${environment}, expected ${name} as in ${file}; omit the option`);
    const drawn = { count: trainTasks, seed: deriveSeed(spec.seed, 'tasks'), options: spec.environment.options };
    return { environment: name, split: 'train', ...drawn };
  }
  if (environment === undefined)
    throw new UsageError('experts import: found neither --spec nor --environment, expected one of them');
  return { environment, split: 'train', count, seed, options };
}

/** Returns a task with only its id, for imports without an environment server. */
const taskWithId = (id: string): TaskRecord => ({
  task_id: id,
  goal: '',
  definition: {},
  features: {},
  content_key: '',
  reference_actions: [],
});

/** Reads the task ids by conversation id; empty without a file. */
async function readTaskIds(file: string | undefined): Promise<ReadonlyMap<string, string>> {
  if (file === undefined) return new Map();
  const rows = jsonRows(decodeText(await readFile(file), file));
  const read = z.record(z.string(), z.string()).safeParse(rows.length === 1 ? rows[0] : rows);
  if (!read.success)
    throw new UsageError(`--map: found no JSON object in ${file}, expected conversation ids with task ids`);
  return new Map(Object.entries(read.data));
}

const mean = (rewards: readonly (number | null)[]): number | null => {
  const present = rewards.filter((reward) => reward !== null);
  return present.length === 0 ? null : present.reduce((sum, reward) => sum + reward, 0) / present.length;
};
