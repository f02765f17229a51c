import { setTimeout as sleep } from 'node:timers/promises';
import { sha256 } from '../../src/files/sha256';
import { freezeExperiment } from '../../src/client/experiments/freeze-experiment';
import { startExperiment } from '../../src/client/experiments/start-experiment';
import { canonicalJson } from '../../src/domain/canonical-json';
import { cellCampaign, cellsOf, type Experiment } from '../../src/domain/experiment/experiment';
import { analysisInput } from '../../src/statistics/analysis-input';
import type { LoadedExperiment } from '../../src/specification/experiment/read-experiment';
import { analysisKey } from '../../src/statistics/run-statistics';
import type { ChaosStack } from './chaos-stack';
import { unlessUnavailable } from './progress';
import { compareContent, type Check, type Content } from './verify-campaign';

/** Returns the experiment of a generation: it differs from the others in its name alone. */
export const experimentOf = ({ experiment, ...file }: LoadedExperiment, generation: number): LoadedExperiment => ({
  ...file,
  experiment: { ...experiment, name: `${experiment.name}-${generation}` },
});

/** Returns the names of the campaigns of all cells. */
export const cellNames = ({ name, arms, looks }: Experiment): string[] =>
  cellsOf(arms, looks.at(-1)!).map((cell) => cellCampaign(name, cell));

/** Freezes and starts an experiment; a repetition changes nothing. */
export async function beginExperiment(stack: ChaosStack, loaded: LoadedExperiment): Promise<void> {
  await freezeExperiment(stack, loaded);
  await startExperiment(stack, loaded.experiment.name);
}

/** Waits until the workflow of an experiment has recorded its end. */
export async function waitForExperiment({ store }: ChaosStack, name: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const found = await unlessUnavailable(() => store.experiments.getByName(name));
    if (found && found.status !== 'running' && found.status !== 'paused') return;
    await sleep(250);
  }
}

/** Compares the input of an experiment's analysis with the input in the undisturbed run; undefined when it is that run. */
export async function verifyExperiment({ store }: ChaosStack, name: string, undisturbed?: Content): Promise<Check> {
  const record = await store.experimentRecords.get(name);
  const input = analysisInput(record, record.experiment.looks.at(-1)!);
  const parts = Object.fromEntries(
    (['cells', 'scores'] as const).map((part) => [part, { hash: sha256(canonicalJson(input[part])) }]),
  );
  const { status } = await store.experiments.getByName(name);
  return {
    name,
    ...compareContent({ hash: analysisKey(input), parts }, undisturbed),
    broken: [],
    unfinished: status === 'finished' ? null : status,
  };
}
