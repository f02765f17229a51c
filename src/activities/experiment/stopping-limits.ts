import type { CellName } from '../../domain/experiment/experiment';
import { endingLook } from '../../domain/experiment/progress';
import { completenessOf, earlyCells } from '../../domain/experiment/record';
import { analysisInput } from '../../statistics/analysis-input';
import type { ExperimentRow } from '../../store/experiment/experiments';
import type { Dependencies } from '../context/dependencies';
import { decimal, dollars, rate } from '../../domain/formats';

type Limits = Pick<Dependencies, 'store' | 'analyze'>;

/** Returns the reason why a cell may not start; null without one. */
export async function reachedLimit(deps: Limits, experiment: ExperimentRow, cell: CellName): Promise<string | null> {
  return (await reachedSpending(deps, experiment)) ?? (await reachedLook(deps, experiment, cell));
}

async function reachedSpending({ store }: Limits, { id, name, resolved }: ExperimentRow): Promise<string | null> {
  const { usd, hours } = resolved.stopping;
  if (usd === null && hours === null) return null;
  const spent = await store.experimentCells.getSpent(id);
  const next = `raise it in the file, freeze that with --amend, and \`coevolve experiment start ${name}\``;
  if (usd !== null && spent.usd >= usd)
    return `stopping.usd: the cells have cost ${dollars(spent.usd)}, the limit is $${usd}; ${next}`;
  const spentHours = spent.seconds / 3600;
  if (hours !== null && spentHours >= hours)
    return `stopping.hours: the cells have taken ${decimal(spentHours)} h, the limit is ${hours} h; ${next}`;
  return null;
}

/**
 * Takes the first of two looks before the first cell beyond it. An incomplete look has neither a verdict nor a conditional
 * power. Both looks have the level that keeps alpha over both, so that a verdict at the first costs no error.
 */
async function reachedLook(
  { store, analyze }: Limits,
  { id, name, resolved }: ExperimentRow,
  { seed }: CellName,
): Promise<string | null> {
  const look = endingLook(resolved);
  if (look === null || seed <= look) return null;
  const record = await store.experimentRecords.get(name);
  if (completenessOf(record, look).missing.length > 0) return null;
  const input = analysisInput(record, look);
  const exploratory = earlyCells(record, look).length > 0;
  const { conditionalPower, contrasts } = (await analyze({ experimentId: id, input, exploratory })).output;
  const { futility, decided } = resolved.stopping;
  const primary = resolved.analysis.primary.name;
  const next = `\`coevolve experiment analyze ${name}\` shows the verdicts`;
  const verdict = contrasts.find(({ kind }) => kind === 'primary')?.verdict;
  if (decided && verdict && ['better', 'worse', 'equivalent'].includes(verdict))
    return `stopping.decided: at ${look} seeds the verdict of ${primary} is ${verdict}; ${next}`;
  if (futility === null || conditionalPower === null || conditionalPower >= futility) return null;
  return (
    `stopping.futility: at ${look} seeds the conditional power of ${primary} is ` +
    `${rate(conditionalPower)}, the limit is ${futility}; ${next}`
  );
}
