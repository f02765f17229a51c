import type { Command } from 'commander';
import { withConnections } from '../../client/connections';
import { oneLine, rounded } from '../../domain/formats';
import { listEvents, type EventFilter, type ListedEvent } from '../../store/campaign/list-events';
import { text, type Column } from '../../tables/table';
import { integerIn } from '../arguments/integer';
import { addListOptions, limitOf, printPage, type ListOptions } from '../output/listing';
import { sinceOf } from '../arguments/since';

type Options = ListOptions & EventFilter & { whole?: boolean };

/** `coevolve events <campaign>`: lists the events of a campaign with their time, operator and reason. */
export function addEvents(program: Command): void {
  const command = program
    .command('events <campaign>')
    .description('list what happened to a campaign: its start and end, who paused it and why, parkings, promotions')
    .option('--iteration <number>', 'only events of this iteration', integerIn(0, 32_767))
    .option('--kind <kind>', 'only this kind, such as paused, parked, promoted or budget-raised')
    .option('--actor <name>', 'only events of this operator; coevolve is the program')
    .option('--since <time>', 'only events from 30s, 10m, 2h, 3d ago, or from a time in ISO 8601', sinceOf)
    .option('--whole', 'print whole reasons');
  addListOptions(command, 'one JSON object per line').action((name: string, options: Options) =>
    withConnections(async ({ store, pool }) => {
      const { json, limit: _limit, whole, ...filter } = options;
      const { id } = await store.campaigns.getByName(name);
      printPage(await listEvents(pool, id, filter, limitOf(options)), 'events', columns(whole), json);
    }),
  );
}

const columns = (whole = false): readonly Column<ListedEvent>[] => [
  text('time', ({ at }) => `${at.toISOString().slice(0, 19).replace('T', ' ')} UTC`),
  text('iteration', ({ iteration }) => (iteration === null ? null : String(iteration))),
  text('event', ({ kind }) => kind),
  text('by', ({ actor }) => actor),
  text('detail', ({ detail }) => (whole ? detailText(detail) : oneLine(detailText(detail), 160)) || null),
];

/** Formats the reason first, then the other values with their names. */
export function detailText({ reason, ...values }: Record<string, unknown>): string {
  const named = Object.entries(values)
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([key, value]) => `${key} ${valueText(value)}`);
  return [...(typeof reason === 'string' ? [reason] : []), ...named].join('; ');
}

function valueText(value: unknown): string {
  if (typeof value === 'number') return rounded(value);
  return typeof value === 'string' ? value : JSON.stringify(value);
}
