// Submits and watches a stored training run like a train worker. Run by `runProgram`.
import { submitTraining } from '../../../src/activities/train/submit-training';
import { watchTraining } from '../../../src/activities/train/watch-training';
import { backendForRun } from '../../../src/activities/train/backend-for-run';
import type { Dependencies } from '../../../src/activities/context/dependencies';
import { artifactStore } from '../../../src/artifacts/artifact-store';
import { createStore } from '../../../src/store';
import { createPool } from '../../../src/store/database/pool';
import { localBackend } from '../../../src/training/local/local-backend';
import { programInput } from '../../support/run-program';
import { forkedTrainer } from '../../support/trainer-server';
import { inActivity } from '../context/in-activity';

export type WatchInput = { databaseUrl: string; root: string; jobKey: string };

async function main({ databaseUrl, root, jobKey }: WatchInput): Promise<void> {
  const store = createStore(createPool(databaseUrl));
  const artifacts = artifactStore(root);
  const local = () => localBackend(forkedTrainer, artifacts);
  const services = { store, artifacts, training: backendForRun({ local }, store.trainingRuns) } as Dependencies;
  await inActivity(() => submitTraining(services)({ jobKey, epoch: 1 }));
  await inActivity(() => watchTraining(services)({ jobKey, epoch: 1 }));
}

main(programInput() as WatchInput).then(
  () => process.exit(0),
  (error: unknown) => {
    process.stderr.write(`${String(error)}\n`);
    process.exit(1);
  },
);
