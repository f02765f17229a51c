import { UsageError } from '../../base/errors';
import { readFile } from 'node:fs/promises';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { z } from 'zod';
import { artifactStore } from '../../artifacts/artifact-store';
import { createEnvironments } from '../../envs/environments';
import type { TaskRecord, TaskRequest } from '../../envs/server/environment-data';
import { saveExperts } from '../../envs/experts/expert-file';
import { importExperts, type ImportReport } from '../../envs/experts/import-experts';
import { measureExperts, type TrajectoryStatistics } from '../../envs/experts/measure-experts';
import { conversationFormats, readConversations, type ConversationFormat } from '../../envs/experts/read-conversations';
import { parseJson } from '../../base/parse-json';
import { deriveSeed } from '../../domain/base/seed-tree';
import { readSpec } from '../../spec/read-spec';
import { expertsTable, optionsOf, integerIn } from './experts-table';
import { printResult, rounded, printMessage, table } from '../base/output';
import { currentConfig } from '../../client/session';

type Flags = {
  environment?: string;
  spec?: string;
  format: ConversationFormat;
  idField: string;
  map?: string;
  above: number;
  count: number;
  seed: number;
  options: string;
  replay: boolean;
  json?: true;
};

const maxSessions = 8;

/** `coevolve experts import <file>`: replays recorded conversations and stores the successful ones as experts. */
export function addExpertsImport(experts: Command): void {
  experts
    .command('import <file>')
    .description('replay recorded conversations and store those with a reward as experts')
    .option('--environment <name>', 'environment of the conversations')
    .option('--spec <file>', 'spec of a campaign: uses its environment and train tasks')
    .addOption(new Option('--format <format>', 'format of the file').choices(conversationFormats).default('eto'))
    .option('--id-field <field>', "field of a conversation with the task's id", 'id')
    .option('--map <file>', 'JSON file that maps conversation ids to task ids')
    .option('--above <reward>', 'lower bound of the reward, exclusive; ETO uses 0.7', unit, 0.7)
    .option('--count <tasks>', 'train tasks to draw and match', integerIn(1, 20_000), 20_000)
    .option('--seed <number>', 'seed of the draw', integerIn(0, 2 ** 31 - 1), 1)
    .option('--options <json>', 'environment options, as in the spec', '{}')
    .option('--no-replay', 'do not replay: keep the rewards of the file')
    .option('--json', 'print the result as JSON')
    .action(async (file: string, { json, ...flags }: Flags) => {
      const imported = await run(file, flags);
      printResult(json, imported, () => textOf(imported));
      if (imported.imported === 0) process.exitCode = 1;
      else printMessage(`a spec uses them with \`environment: { experts: ${imported.sha256} }\``);
    });
}

type Imported = {
  environment: string;
  /** Hash of the stored file; null without accepted conversations. */
  sha256: string | null;
  path: string | null;
  replayed: boolean;
  imported: number;
  refused: ImportReport['refused'];
  claimedMean: number | null;
  replayedMean: number | null;
  table: TrajectoryStatistics[];
};

async function run(file: string, flags: Omit<Flags, 'json'>): Promise<Imported> {
  const { format, idField, above, replay } = flags;
  const { environment, ...request } = await drawOf(flags);
  const config = currentConfig();
  const read = readConversations(await readFile(file, 'utf8'), format, idField);
  const environments = replay ? createEnvironments(config) : null;
  const taskOf = await mapping(flags.map);
  const tasks = environments
    ? await environments.data.tasks(environment, request)
    : read.conversations.map((conversation) => taskWithId(taskOf.get(conversation.id) ?? conversation.id));
  const capacity = (await environments?.data.capacity(environment)) ?? maxSessions;
  const settings = { environment, taskOf, above, sessions: Math.min(maxSessions, capacity) };
  const { experts, refused } = await importExperts(environments?.open ?? null, tasks, read.conversations, {
    ...settings,
    onProgress: progressLine(read.conversations.length),
  });
  const stored = experts.length > 0 ? await saveExperts(artifactStore(config.artifacts), experts) : null;
  return {
    ...{ environment, sha256: stored?.sha256 ?? null, path: stored?.path ?? null, replayed: replay },
    ...{ imported: experts.length, refused: [...read.refused, ...refused] },
    claimedMean: mean(experts.map(({ claimed_reward: claimed }) => claimed)),
    replayedMean: replay ? mean(experts.map(({ reward }) => reward)) : null,
    table: measureExperts(experts),
  };
}

type Draw = TaskRequest & { environment: string };

/** Returns the tasks to draw: those that the spec's campaign will draw, or those of the flags. */
async function drawOf({ environment, spec: file, ...flags }: Omit<Flags, 'json'>): Promise<Draw> {
  if (file !== undefined) {
    const { seed, environment: of } = readSpec(await readFile(file, 'utf8'), file);
    if (environment !== undefined && environment !== of.name)
      throw new UsageError(`--environment: found ${environment}, expected ${of.name} as in ${file}; omit the option`);
    const drawn = { count: of.trainTasks, seed: deriveSeed(seed, 'tasks'), options: of.options };
    return { environment: of.name, split: 'train', ...drawn };
  }
  if (environment === undefined)
    throw new UsageError('experts import: found neither --spec nor --environment, expected one of them');
  return { environment, split: 'train', count: flags.count, seed: flags.seed, options: optionsOf(flags.options) };
}

/** Returns a task with only its id, for imports without an environment server. */
const taskWithId = (id: string): TaskRecord => ({
  ...{ task_id: id, goal: '', definition: {}, features: {}, content_key: '', reference_actions: [] },
});

async function mapping(file: string | undefined): Promise<ReadonlyMap<string, string>> {
  if (file === undefined) return new Map();
  const read = z.record(z.string(), z.string()).safeParse(parseJson(await readFile(file, 'utf8')));
  if (!read.success)
    throw new UsageError(`--map: found no JSON object in ${file}, expected conversation ids with task ids`);
  return new Map(Object.entries(read.data));
}

const progressLine =
  (all: number) =>
  (done: number): void => {
    if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${done}/${all} conversations${done === all ? '\n' : ''}`);
  };

const mean = (rewards: readonly (number | null)[]): number | null => {
  const present = rewards.filter((reward) => reward !== null);
  return present.length === 0 ? null : present.reduce((sum, reward) => sum + reward, 0) / present.length;
};

function textOf({ imported, refused, claimedMean, replayedMean, replayed, table: measures, path }: Imported): string {
  const shown = (reward: number | null): string => (reward === null ? 'unknown' : rounded(reward));
  const reasons = new Map<string, { count: number; example: string }>();
  for (const { id, reason } of refused) {
    const kind = reason.replace(/\d[\d.]*/g, 'n').replace(/task \S+/, 'task ...');
    reasons.set(kind, { count: (reasons.get(kind)?.count ?? 0) + 1, example: `${id}: ${reason}` });
  }
  const rows = [...reasons.values()].map(({ count, example }) => ['refused', count, example] as const);
  return [
    ...(measures.length > 0 ? [expertsTable(measures), ''] : []),
    table(['', 'conversations', ''], [['imported', imported, path ?? 'nothing stored'], ...rows]),
    '',
    `mean reward in the file: ${shown(claimedMean)}`,
    `mean reward of the replays: ${replayed ? shown(replayedMean) : 'not replayed: the rewards above are those of the file'}`,
  ].join('\n');
}

function unit(text: string): number {
  const number = Number(text);
  if (text.trim() && number >= 0 && number <= 1) return number;
  throw new InvalidArgumentError('expected a number in [0, 1]');
}
