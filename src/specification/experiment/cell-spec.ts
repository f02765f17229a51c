import { didYouMean } from '../../input/did-you-mean';
import { DomainError } from '../../domain/errors';
import { deriveSeed } from '../../domain/random/seed-tree';
import { cellCampaign, type CellName, type Experiment } from '../../domain/experiment/experiment';
import type { CampaignSpec } from '../campaign-spec';
import { resolveSpec } from '../read-spec';
import { withStoredLimits } from '../recipe-defaults';

/**
 * Returns the campaign spec of a cell. All arms of a seed have the same campaign seed, so they share tasks and start.
 *
 * @throws DomainError `UnknownArm`, `InvalidSpec`
 */
export function cellSpec(experiment: Experiment, cell: CellName): CampaignSpec {
  const arm = experiment.arms.find(({ name }) => name === cell.arm);
  if (!arm) {
    const names = experiment.arms.map(({ name }) => name);
    throw new DomainError(
      'UnknownArm',
      `arm: found "${cell.arm}", expected one of ${names.join(', ')}${didYouMean(cell.arm, names)}`,
    );
  }
  const synthesis = arm.spec['synthesis'] as CampaignSpec['synthesis'];
  const name = cellCampaign(experiment.name, cell);
  const match = arm.matches === null ? null : cellCampaign(experiment.name, { arm: arm.matches, seed: cell.seed });
  const seed = deriveSeed(experiment.seed, 'cell', cell.seed);
  const frozen = withStoredLimits({ ...arm.spec, name, seed, synthesis: { ...synthesis, match } });
  return resolveSpec(frozen, `the cell ${name}`);
}
