import { UsageError } from '../../base/errors';
import { randomUUID } from 'node:crypto';
import { userInfo } from 'node:os';
import { InvalidArgumentError, type Command } from 'commander';
import { DomainError } from '../../domain/base/errors';
import { campaignWorkflowId } from '../../domain/campaign/ids';
import type { Budget, Spending } from '../../store/spending/budgets';
import type { TrainingCost } from '../../store/spending/ledger';
import { hasEnded } from '../../store/campaign/campaigns';
import type { ModelSpending, UnconfirmedRequest, Waste } from '../../store/spending/model-spending';
import { resumeUpdate } from '../../workflows/base/messages';
import { duration, printResult, say, table } from '../base/output';
import { withSession, type Session } from '../../client/session';
import { trainingText } from '../base/training-text';

type RaiseOptions = { tokens?: number; usd?: number; requestId?: string; json?: boolean };

/** `coevolve budget <campaign>` shows what models and training took; `coevolve budget raise <campaign>` lets them take more. */
export function addBudget(program: Command): void {
  const budget = program
    .command('budget')
    .argument('<campaign>')
    .description('show what language models and training took of the budget, and for what; `budget raise` raises it')
    .option('--json', 'print it whole, as JSON')
    .action((name: string, { json }: { json?: boolean }) =>
      withSession(async ({ store }) => {
        const { id } = await store.campaigns.getByName(name);
        const state: BudgetState = {
          ...(await store.budgets.get(id)),
          spent: await store.modelCalls.listSpending(id),
          waste: await store.modelCalls.getWaste(id),
          unconfirmed: await store.modelCalls.listUnconfirmed(id),
          training: await store.ledger.getTrainingCost(id),
        };
        printResult(json, state, () => describe(state));
      }),
    );
  budget
    .command('raise <campaign>')
    .description('raise the limits, and let a campaign that parked go on; safe to repeat with a request id')
    .option('--tokens <count>', 'tokens to add', positive)
    .option('--usd <dollars>', 'US dollars to add', positive)
    .option('--request-id <id>', 'the same id raises once, however often it is given')
    .action((name: string, _own: object, command: Command) =>
      withSession((session) => raise(session, name, command.optsWithGlobals<RaiseOptions>())),
    );
}

type BudgetState = Budget & {
  spent: ModelSpending[];
  waste: Waste;
  unconfirmed: UnconfirmedRequest[];
  /** What its GPUs cost is in the committed dollars too. */
  training: TrainingCost;
};

function positive(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value) || value <= 0) throw new InvalidArgumentError('a number above 0');
  return value;
}

async function raise(session: Session, name: string, { tokens, usd, requestId, json }: RaiseOptions): Promise<void> {
  if (tokens === undefined && usd === undefined) throw new UsageError('nothing to raise: give --tokens, --usd or both');
  const { store } = session;
  const { id, status: before } = await store.campaigns.getByName(name);
  if (hasEnded(before)) throw new DomainError('CampaignEnded', `${name} has ended (${before}): it spends nothing more`);
  const actor = userInfo().username;
  const added: Partial<Spending> = {
    ...(tokens === undefined ? {} : { llmTokens: tokens }),
    ...(usd === undefined ? {} : { usd }),
  };
  const raised = await store.budgets.raise(id, { ...added, actor, requestId: requestId ?? randomUUID() });
  const { status } = await store.campaigns.getByName(name);
  if (status === 'parked') {
    const client = await session.temporal();
    const handle = client.workflow.getHandle(campaignWorkflowId(name));
    await handle.executeUpdate(resumeUpdate, { args: [{ actor, reason: 'budget raised' }] });
    say(`${name} goes on; follow it with \`coevolve status ${name} --watch\``);
  }
  printResult(json, raised, () => limits(raised));
}

function describe({ spent, waste, training, ...budget }: BudgetState): string {
  const header = ['iteration', 'purpose', 'provider', 'model', 'calls', 'tokens', 'usd', 'time'];
  const rows = spent.map((s) => [
    ...[s.iteration, s.purpose, s.provider, s.model, s.calls, s.tokens, dollars(s.usd), duration(s.seconds)],
  ]);
  const estimated = spent.reduce((sum, one) => sum + one.estimated, 0);
  return [
    limits(budget),
    ...(rows.length > 0 ? ['', table(header, rows)] : ['', 'no call of a language model was paid']),
    ...(estimated > 0 ? [`${estimated} answers named no usage: their tokens are estimated`] : []),
    ...(training.jobs > 0 ? [trainingText(training)] : []),
    ...wasted('paid twice', waste.confirmed),
    ...wasted('perhaps paid and not heard (at most; --json names the requests)', waste.unconfirmed),
  ].join('\n');
}

const limits = ({ limit, committed }: Budget): string =>
  [
    `tokens  ${counted(committed.llmTokens)} of ${limit.llmTokens === null ? 'no limit' : counted(limit.llmTokens)}`,
    `usd     ${dollars(committed.usd)} of ${limit.usd === null ? 'no limit' : dollars(limit.usd)}`,
  ].join('\n');

const wasted = (what: string, { calls, tokens, usd }: Waste['confirmed']): string[] =>
  calls === 0
    ? []
    : [`${what}: ${calls} ${calls === 1 ? 'call' : 'calls'}, ${counted(tokens)} tokens, ${dollars(usd)}`];

const counted = (tokens: number): string => tokens.toLocaleString('en');

const dollars = (usd: number): string => `$${usd.toFixed(4)}`;
