import type { LoadedExperiment } from '../../specification/experiment/read-experiment';
import type { Connections } from '../connections';
import { freezeExperiment, type Frozen } from './freeze-experiment';
import { checkCells, startExperiment, type StartedExperiment } from './start-experiment';

type Options = { seeds?: number | undefined; amend?: boolean; onUnchecked: (line: string) => void };

/**
 * Freezes the experiment of a file and starts it. The first cell of every arm is checked before anything is written.
 *
 * @throws DomainError the errors of `checkCells`, `freezeExperiment` and `startExperiment`
 */
export async function startFile(
  connections: Connections,
  loaded: LoadedExperiment,
  { seeds, amend = false, onUnchecked }: Options,
): Promise<{ frozen: Frozen; started: StartedExperiment }> {
  const { experiment } = loaded;
  const checked = await checkCells(connections, experiment, seeds ?? experiment.looks.at(-1)!, onUnchecked);
  const frozen = await freezeExperiment(connections, loaded, { amend });
  return { frozen, started: await startExperiment(connections, experiment.name, { seeds, checked }) };
}
