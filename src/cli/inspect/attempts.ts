import { InvalidArgumentError, Option, type Command } from 'commander';
import { withConnections } from '../../client/connections';
import type { Phase } from '../../domain/campaign/phases';
import { count, dateTime, decimal, duration, oneLine, shortHash } from '../../domain/formats';
import type { Purpose } from '../../domain/rollout/trajectory';
import {
  attemptOrders,
  listAttempts,
  type AttemptFilter,
  type AttemptOrder,
  type ListedAttempt,
} from '../../store/trajectories/list-attempts';
import { number, properties, text, type Column } from '../../tables/table';
import { integerIn } from '../arguments/integer';
import { idWithin } from '../arguments/shown-ids';
import { addListOptions, limitOf, printPage, type ListOptions } from '../output/listing';

type Options = ListOptions &
  Omit<AttemptFilter, 'purposes'> & {
    phase?: keyof typeof purposesOf;
    purpose?: Purpose;
    sort: AttemptOrder['by'];
    ascending?: boolean;
  };

/** The attempts that a phase plays. */
const purposesOf = {
  rollout: ['train', 'expert'],
  optimize: ['train'],
  validate: ['validation', 'solving'],
  evaluate: ['evaluation', 'test'],
} as const satisfies Partial<Record<Phase, readonly Purpose[]>>;

const purposes: readonly Purpose[] = ['train', 'expert', 'validation', 'solving', 'evaluation', 'test'];
const outcomes = ['scored', 'environment-fault', 'policy-fault', 'time-limit', 'cancelled', 'unplayable'];

/** `coevolve attempts <campaign>`: lists finished attempts; `coevolve trajectory` prints one. */
export function addAttempts(program: Command): void {
  const command = program
    .command('attempts <campaign>')
    .description('list finished attempts: outcome, reward, duration, faults, signals')
    .option('--iteration <number>', 'only this iteration', integerIn(0, 32_767))
    .addOption(new Option('--phase <phase>', 'only the attempts of a phase').choices(Object.keys(purposesOf)))
    .addOption(new Option('--purpose <purpose>', 'only attempts for one purpose').choices(purposes))
    .option('--task <id>', 'only this task')
    .addOption(new Option('--split <split>', 'only tasks of a split').choices(['train', 'held-out']))
    .addOption(new Option('--role <role>', 'only this agent').choices(['target', 'failure', 'positive', 'base']))
    .option('--policy <hash>', 'only this policy, by the first digits of its hash', hashOf)
    .addOption(new Option('--outcome <outcome>', 'only this outcome').choices(outcomes))
    .option('--stop-reason <reason>', 'only this reason of the end, such as turn-limit')
    .option('--min-reward <reward>', 'only rewards from here', rewardOf)
    .option('--max-reward <reward>', 'only rewards up to here', rewardOf)
    .option('--fault <text>', 'only attempts with this text in a fault, which ended it or an earlier try')
    .addOption(new Option('--signal <kind>', 'only attempts with a signal').choices(['forgetting', 'boundary', 'rare']))
    .addOption(new Option('--sort <by>', 'largest or newest first').choices(Object.keys(attemptOrders)).default('time'))
    .option('--ascending', 'smallest or oldest first');
  addListOptions(command, 'one JSON object per line').action((name: string, options: Options) =>
    withConnections(async ({ store, pool }) => {
      const { json, limit: _limit, sort, ascending, phase, purpose, task, ...filter } = options;
      const { id } = await store.campaigns.getByName(name);
      const ofPhase = phase ? purposesOf[phase] : purposes;
      const chosen = purpose ? ofPhase.filter((one) => one === purpose) : ofPhase;
      const order = { by: sort, ascending: ascending ?? false, limit: limitOf(options) };
      const ofTask = task === undefined ? {} : { task: idWithin(name, task) };
      const { rows, total } = await listAttempts(pool, id, { ...filter, ...ofTask, purposes: chosen }, order);
      const named = rows.map((row) => ({ ...row, id: `${name}/${row.id}` }));
      printPage({ rows: named, total }, 'attempts', columns, json);
    }),
  );
}

const columns: readonly Column<ListedAttempt>[] = [
  text('attempt', ({ id }) => id),
  text('agent', ({ role }) => role),
  text('policy', ({ policyId }) => policyId && shortHash(policyId)),
  ...properties('outcome'),
  number('reward', ({ reward }) => reward, decimal),
  text('stop', ({ stopReason }) => oneLine(stopReason, 20)),
  ...properties('turns'),
  number('tokens', ({ promptTokens, completionTokens }) => promptTokens + completionTokens, count),
  number('time', ({ seconds }) => seconds, duration),
  text('signals', ({ signals }) => (signals.length > 0 ? signals.join(', ') : null)),
  number('faults', ({ faults }) => faults || null),
  text('ended', ({ recordedAt }) => dateTime(recordedAt.toISOString())),
  text('fault', ({ fault }) => fault && oneLine(fault)),
];

function hashOf(input: string): string {
  if (/^[0-9a-f]{4,64}$/.test(input)) return input;
  throw new InvalidArgumentError('expected 4 to 64 digits 0-9a-f of a hash');
}

function rewardOf(input: string): number {
  const value = Number(input);
  if (input.trim() !== '' && value >= 0 && value <= 1) return value;
  throw new InvalidArgumentError('expected a number in 0..1');
}
