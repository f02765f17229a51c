import { spawn, type ChildProcess } from 'node:child_process';
import path from 'node:path';
import type { OpenRollout, Rollouts } from './interrupted-rollouts';

const projectRoot = path.resolve(__dirname, '../../..');

const program = `
const { collectRollouts } = require('./src/activities/collect-rollouts.ts');
const { environmentData } = require('./src/envs/environment-data.ts');
const { openEnvClient } = require('./src/envs/openenv-client.ts');
const { policyClient } = require('./src/llm/policy-client.ts');
const { createStore } = require('./src/store/index.ts');
const { createPool } = require('./src/store/pool.ts');
const { inActivity } = require('./test/activities/in-activity.ts');
const { databaseUrl, environment, policyUrl, input } = JSON.parse(process.env.ROLLOUT);
const services = {
  store: createStore(createPool(databaseUrl)),
  environmentData: environmentData(environment),
  openEnvironment: openEnvClient(environment),
  policies: policyClient({ url: policyUrl }),
};
inActivity(() => collectRollouts(services)(input)).then(() => process.exit(0));
`;

/** A roll-out in a process of its own, as a worker's is; it can be killed. */
export function rolloutInChild(rollouts: Rollouts, { input }: OpenRollout): ChildProcess {
  const { url, token } = rollouts.environment();
  const asked = {
    ...{ databaseUrl: rollouts.database.url, environment: { url, token } },
    ...{ policyUrl: rollouts.policy.url, input },
  };
  return spawn(process.execPath, ['-r', path.join(projectRoot, 'test/../tools/typescript-hook.cjs'), '-e', program], {
    cwd: projectRoot,
    env: { PATH: process.env['PATH'], ROLLOUT: JSON.stringify(asked) },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}
