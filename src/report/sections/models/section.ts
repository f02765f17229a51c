import type { CampaignReport } from '../../collect-report';
import type { Html } from '../../page/html';
import { count, counted, duration, nothing } from '../../page/format';
import { lead, type Section } from '../../page/blocks';
import { table } from '../../page/table';

/** What language models were asked and what it cost; null where none was. */
export function modelsSection(report: CampaignReport): Section | null {
  const { modelSpending, contexts, explorationRuns } = report;
  if (modelSpending.length === 0 && contexts.length === 0) return null;
  return {
    id: 'models',
    title: 'Language models',
    body: [
      lead(summary(report)),
      spendTable(report),
      ...(contexts.length > 0 ? [contextTable(report)] : []),
      ...(explorationRuns.length > 0 ? [runTable(report)] : []),
    ],
  };
}

function summary({ modelSpending, budget, waste }: CampaignReport): string {
  const total = (measure: (one: CampaignReport['modelSpending'][number]) => number): number =>
    modelSpending.reduce((sum, one) => sum + measure(one), 0);
  const limit = (amount: number | null | undefined, unit: string): string =>
    amount === null || amount === undefined ? `no limit of ${unit}` : `a limit of ${count(amount)} ${unit}`;
  return (
    `${counted(
      total(({ calls }) => calls),
      'answer',
    )} for ` +
    `${count(total(({ tokens }) => tokens))} tokens and ` +
    `$${total(({ usd }) => usd).toFixed(2)}, under ${limit(budget?.tokensLimit, 'tokens')} and ` +
    `${limit(budget?.usdLimit, 'dollars')}. Paid twice: ${counted(waste.confirmed.calls, 'call')}, ` +
    `${count(waste.confirmed.tokens)} tokens; perhaps paid, because nobody heard an answer: ` +
    `${counted(waste.unconfirmed.calls, 'call')}.`
  );
}

const spendTable = ({ modelSpending }: CampaignReport): Html =>
  table({
    caption: 'Model calls by iteration and purpose',
    head: ['iteration', 'purpose', 'model', 'calls', 'tokens', 'US dollars', 'time, summed'],
    textColumns: 3,
    rows: modelSpending.map((one) => [
      ...[String(one.iteration), one.purpose, `${one.provider}/${one.model}`, count(one.calls)],
      ...[count(one.tokens), one.usd.toFixed(2), duration(one.seconds)],
    ]),
  });

const contextTable = ({ contexts }: CampaignReport): Html =>
  table({
    caption: 'Contexts of exploration: flagged trajectories that were reflected upon',
    head: ['iteration', 'aim', 'became', 'because', 'contexts'],
    textColumns: 4,
    rows: contexts.map(({ iteration, aim, status, failure, contexts: n }) => [
      ...[String(iteration), aim, status, failure ?? nothing, count(n)],
    ]),
  });

const runTable = ({ explorationRuns }: CampaignReport): Html =>
  table({
    caption: 'Exploration runs by how they ended',
    head: ['iteration', 'aim', 'outcome', 'runs', 'actions'],
    textColumns: 3,
    rows: explorationRuns.map(({ iteration, aim, outcome, runs, turns }) => [
      ...[String(iteration), aim, outcome, count(runs), count(turns)],
    ]),
  });
