import { InvalidArgumentError, Option, type Command } from 'commander';
import {
  importConversations,
  type ConversationImport,
  type ImportedConversations,
} from '../../client/import-conversations';
import { currentConfig } from '../../client/connections';
import { conversationFormats } from '../../envs/experts/read-conversations';
import { rounded } from '../../domain/formats';
import { printMessage, printOver, printResult } from '../output/output';
import { expertsTable } from './experts-table';
import { integerIn } from '../arguments/integer';
import { jsonObject } from '../arguments/json-object';
import { number, text } from '../../tables/table';
import { terminalTable } from '../../tables/terminal-table';

type Flags = ConversationImport & { json?: true };

/** `coevolve experts import <file>`: replays recorded conversations and stores the successful ones as experts. */
export function addExpertsImport(experts: Command): void {
  experts
    .command('import <file>')
    .description('replay recorded conversations and store those with a reward as experts')
    .option('--environment <name>', 'environment of the conversations')
    .option('--spec <file>', 'spec of a campaign: uses its environment and train tasks')
    .addOption(new Option('--format <format>', 'format of the file').choices(conversationFormats).default('auto'))
    .option(
      '--id-field <field>',
      "field of a row with the task's id; default: id, task_id, item_id, data_idx or episode_id",
    )
    .option('--map <file>', 'JSON file that maps conversation ids to task ids')
    .option('--above <reward>', 'lower bound of the reward, exclusive; ETO uses 0.7', unit, 0.7)
    .option('--count <tasks>', 'train tasks to draw and match', integerIn(1, 20_000), 20_000)
    .option('--seed <number>', 'seed of the draw', integerIn(0, 2 ** 31 - 1), 1)
    .option('--options <json>', 'environment options, as in the spec', jsonObject, {})
    .option('--no-replay', 'do not replay: keep the rewards of the file')
    .option('--json', 'print the result as JSON')
    .action(async (file: string, { json, ...request }: Flags) => {
      const imported = await importConversations(currentConfig(), file, request, showProgress);
      printResult(json, imported, () => importText(imported));
      if (imported.imported === 0) process.exitCode = 1;
      else printMessage(`a spec uses them with \`environment: { experts: ${imported.sha256} }\``);
    });
}

const showProgress = (part: string, done: number, total: number): void =>
  printOver(`${done}/${total} ${part}`, done === total);

function importText({
  imported,
  refused,
  claimedMean,
  replayedMean,
  replayed,
  leftOut,
  table: measures,
  path,
}: ImportedConversations): string {
  const shown = (reward: number | null): string => (reward === null ? 'unknown' : rounded(reward));
  const reasons = new Map<string, { count: number; example: string }>();
  for (const { id, reason } of refused) {
    const kind = reason.replace(/\d[\d.]*/g, 'n').replace(/task \S+/, 'task ...');
    reasons.set(kind, { count: (reasons.get(kind)?.count ?? 0) + 1, example: `${id}: ${reason}` });
  }
  const rows = [
    { name: 'imported', count: imported, example: path ?? 'nothing stored' },
    ...[...reasons.values()].map((reason) => ({ name: 'refused', ...reason })),
  ];
  return [
    ...(measures.length > 0 ? [expertsTable(measures), ''] : []),
    terminalTable(rows, [
      text('', (row) => row.name),
      number('conversations', (row) => row.count),
      text('', (row) => row.example),
    ]),
    '',
    `answers left out because they are no actions: ${leftOut}`,
    `mean reward in the file: ${shown(claimedMean)}`,
    `mean reward of the replays: ${replayed ? shown(replayedMean) : 'not replayed: the rewards above are those of the file'}`,
  ].join('\n');
}

function unit(input: string): number {
  const value = Number(input);
  if (input.trim() && value >= 0 && value <= 1) return value;
  throw new InvalidArgumentError('expected a number in [0, 1]');
}
