import type { LoadedExperiment } from '../../specification/experiment/read-experiment';
import type { Session } from '../session';
import { freezeExperiment, type Frozen } from './freeze-experiment';
import { checkCells, startExperiment, type StartedExperiment } from './start-experiment';

type Options = { seeds?: number | undefined; amend?: boolean; onUnchecked: (line: string) => void };

/**
 * Freezes the experiment of a file and starts it. The first cell of every arm is checked before anything is written.
 *
 * @throws DomainError those of `checkCells`, `freezeExperiment` and `startExperiment`
 */
export async function startFile(
  session: Session,
  loaded: LoadedExperiment,
  { seeds, amend = false, onUnchecked }: Options,
): Promise<{ frozen: Frozen; started: StartedExperiment }> {
  const { experiment } = loaded;
  const checked = await checkCells(session, experiment, seeds ?? experiment.looks.at(-1)!, onUnchecked);
  const frozen = await freezeExperiment(session, loaded, { amend });
  return { frozen, started: await startExperiment(session, experiment.name, { seeds, checked }) };
}
