import { getWaste, listModelSpending } from '../../../store/spending/model-spending';
import { lead } from '../../page/blocks';
import { count, counted, duration, nothing } from '../../page/format';
import type { Html } from '../../page/html';
import { defineSection, type Results } from '../../page/section';
import { table } from '../../page/table';
import { findBudget, listContextGroups, listRunGroups } from './query';

const queries = {
  modelSpending: listModelSpending,
  waste: getWaste,
  budget: findBudget,
  contexts: listContextGroups,
  explorationRuns: listRunGroups,
};

type Rows = Results<typeof queries>;

/** Calls of language models with their cost; left out of a campaign without them. */
export const modelsSection = defineSection({
  id: 'models',
  title: 'Language models',
  queries,
  render(data) {
    if (data.modelSpending.length === 0 && data.contexts.length === 0) return null;
    return [
      lead(summary(data)),
      spendTable(data),
      ...(data.contexts.length > 0 ? [contextTable(data)] : []),
      ...(data.explorationRuns.length > 0 ? [runTable(data)] : []),
    ];
  },
});

function summary({ modelSpending, budget, waste }: Rows): string {
  const total = (measure: (spending: Rows['modelSpending'][number]) => number): number =>
    modelSpending.reduce((sum, one) => sum + measure(one), 0);
  const limit = (amount: number | null | undefined, unit: string): string =>
    amount === null || amount === undefined ? `no limit of ${unit}` : `a limit of ${count(amount)} ${unit}`;
  return (
    `${counted(
      total(({ calls }) => calls),
      'answer',
    )} for ` +
    `${count(total(({ tokens }) => tokens))} tokens and ` +
    `$${total(({ usd }) => usd).toFixed(2)}, with ${limit(budget?.tokensLimit, 'tokens')} and ` +
    `${limit(budget?.usdLimit, 'dollars')}. Paid twice: ${counted(waste.confirmed.calls, 'call')}, ` +
    `${count(waste.confirmed.tokens)} tokens; possibly paid, because no answer arrived: ` +
    `${counted(waste.unconfirmed.calls, 'call')}.`
  );
}

const spendTable = ({ modelSpending }: Rows): Html =>
  table({
    caption: 'Model calls by iteration and purpose',
    head: ['iteration', 'purpose', 'model', 'calls', 'tokens', 'US dollars', 'time, summed'],
    textColumns: 3,
    rows: modelSpending.map((row) => [
      String(row.iteration),
      row.purpose,
      `${row.provider}/${row.model}`,
      count(row.calls),
      count(row.tokens),
      row.usd.toFixed(2),
      duration(row.seconds),
    ]),
  });

const contextTable = ({ contexts }: Rows): Html =>
  table({
    caption: 'Exploration contexts: flagged trajectories and their reflection',
    head: ['iteration', 'aim', 'status', 'failure', 'contexts'],
    textColumns: 4,
    rows: contexts.map(({ iteration, aim, status, failure, contexts: n }) => [
      String(iteration),
      aim,
      status,
      failure ?? nothing,
      count(n),
    ]),
  });

const runTable = ({ explorationRuns }: Rows): Html =>
  table({
    caption: 'Exploration runs by outcome',
    head: ['iteration', 'aim', 'outcome', 'runs', 'actions'],
    textColumns: 3,
    rows: explorationRuns.map(({ iteration, aim, outcome, runs, turns }) => [
      String(iteration),
      aim,
      outcome,
      count(runs),
      count(turns),
    ]),
  });
