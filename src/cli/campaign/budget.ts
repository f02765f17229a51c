import { InvalidArgumentError, type Command } from 'commander';
import { raiseBudget, readBudget, type BudgetDetails } from '../../client/campaign-budget';
import { withConnections, type Connections } from '../../client/connections';
import type { Budget } from '../../store/spending/budgets';
import type { Waste } from '../../store/spending/model-spending';
import { count, counted, dollars, duration } from '../../domain/formats';
import { printResult, printMessage } from '../output/output';
import { trainingText } from '../output/running-text';
import { number, properties } from '../../tables/table';
import { terminalTable } from '../../tables/terminal-table';

type RaiseOptions = { tokens?: number; usd?: number; requestId?: string; json?: boolean };

/** `coevolve budget <campaign>` and `coevolve budget raise <campaign>` */
export function addBudget(program: Command): void {
  const budget = program
    .command('budget')
    .argument('<campaign>')
    .description('show the cost of language models and training by purpose; `budget raise` raises the limits')
    .option('--json', 'print all values as JSON')
    .action((name: string, { json }: { json?: boolean }) =>
      withConnections(async (connections) => {
        const details = await readBudget(connections, name);
        printResult(json, details, () => budgetText(details));
      }),
    );
  budget
    .command('raise <campaign>')
    .description('raise the limits and resume a parked campaign; safe to repeat with a request id')
    .option('--tokens <count>', 'tokens to add', positive)
    .option('--usd <dollars>', 'US dollars to add', positive)
    .option('--request-id <id>', 'a raise with the same id is applied once')
    .action((name: string, _own: object, command: Command) =>
      withConnections((connections) => raise(connections, name, command.optsWithGlobals<RaiseOptions>())),
    );
}

function positive(input: string): number {
  const value = Number(input);
  if (input.trim() === '' || !Number.isFinite(value) || value <= 0) throw new InvalidArgumentError('a number above 0');
  return value;
}

async function raise(connections: Connections, name: string, { json, ...raiseOptions }: RaiseOptions): Promise<void> {
  const { budget, resumed } = await raiseBudget(connections, name, raiseOptions);
  if (resumed) printMessage(`${name} continues; follow it with \`coevolve status ${name} --watch\``);
  printResult(json, budget, () => limitsText(budget));
}

function budgetText({ spent, waste, training, ...budget }: BudgetDetails): string {
  const estimated = spent.reduce((sum, one) => sum + one.estimated, 0);
  return [
    limitsText(budget),
    '',
    spent.length === 0
      ? 'no request to a language model was charged'
      : terminalTable(spent, [
          ...properties('iteration', 'purpose', 'provider', 'model', 'calls', 'tokens'),
          number('usd', (s) => dollars(s.usd, 4)),
          number('time', (s) => s.seconds, duration),
        ]),
    ...(estimated > 0 ? [`${estimated} answers had no usage: their tokens are estimated`] : []),
    ...(training.jobs > 0 ? [trainingText(training)] : []),
    ...wasteText('charged twice', waste.confirmed),
    ...wasteText('possibly charged without an answer (upper bound; --json lists the requests)', waste.unconfirmed),
  ].join('\n');
}

const limitsText = ({ limit, committed }: Budget): string =>
  [
    `tokens  ${count(committed.llmTokens)} of ${limit.llmTokens === null ? 'no limit' : count(limit.llmTokens)}`,
    `usd     ${dollars(committed.usd, 4)} of ${limit.usd === null ? 'no limit' : dollars(limit.usd, 4)}`,
  ].join('\n');

const wasteText = (what: string, { calls, tokens, usd }: Waste['confirmed']): string[] =>
  calls === 0 ? [] : [`${what}: ${counted(calls, 'call')}, ${count(tokens)} tokens, ${dollars(usd, 4)}`];
