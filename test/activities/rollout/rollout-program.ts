import { tmpdir } from 'node:os';
import { artifactStore } from '../../../src/artifacts/artifact-store';
// Plays a batch of rollouts like a rollout worker. Run by `runProgram`.
import type { Dependencies } from '../../../src/activities/context/dependencies';
import { collectRollouts } from '../../../src/activities/rollout/collect-rollouts';
import { attemptPlaces } from '../../../src/activities/context/attempt-places';
import type { RolloutBatch } from '../../../src/activities/rollout/planned-attempt';
import { openEnvClient } from '../../../src/envs/openenv/client';
import type { EnvironmentEndpoint } from '../../../src/envs/server/endpoint';
import { environmentData } from '../../../src/envs/server/environment-data';
import { policyClient } from '../../../src/llm/policy-client';
import { createStore } from '../../../src/store';
import { createPool } from '../../../src/store/database/pool';
import { programInput } from '../../support/run-program';
import { inActivity } from '../context/in-activity';

export type RolloutInput = {
  databaseUrl: string;
  environment: EnvironmentEndpoint;
  policyUrl: string;
  input: RolloutBatch;
};

async function main({ databaseUrl, environment, policyUrl, input }: RolloutInput): Promise<void> {
  const data = { environmentData: environmentData(environment) };
  const services = {
    store: createStore(createPool(databaseUrl)),
    ...data,
    places: attemptPlaces(data),
    openEnvironment: openEnvClient(environment),
    artifacts: artifactStore(tmpdir()), // only the paths of policies, which no scripted server reads
    policies: policyClient({ url: policyUrl }),
  } as Dependencies;
  await inActivity(() => collectRollouts(services)(input));
}

main(programInput() as RolloutInput).then(
  () => process.exit(0),
  (error: unknown) => {
    process.stderr.write(`${String(error)}\n`);
    process.exit(1);
  },
);
