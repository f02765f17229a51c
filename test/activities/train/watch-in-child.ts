import { spawn, type ChildProcess } from 'node:child_process';
import path from 'node:path';

const projectRoot = path.resolve(__dirname, '../../..');

const program = `
const { trainingOfRun } = require('./src/activities/training-of-run.ts');
const { submitTraining } = require('./src/activities/submit-training.ts');
const { watchTraining } = require('./src/activities/watch-training.ts');
const { artifactStore } = require('./src/artifacts/artifact-store.ts');
const { createStore } = require('./src/store/index.ts');
const { createPool } = require('./src/store/pool.ts');
const { localBackend } = require('./src/training/local-backend.ts');
const { inActivity } = require('./test/activities/in-activity.ts');
const { databaseUrl, root, jobKey } = JSON.parse(process.env.WATCH);
const store = createStore(createPool(databaseUrl));
const artifacts = artifactStore(root);
const projectRoot = process.cwd();
const local = () => localBackend({ python: projectRoot + '/.venv/bin/python', projectRoot }, artifacts);
const services = { store, artifacts, training: trainingOfRun({ local }, store.trainingRuns) };
inActivity(() => submitTraining(services)({ jobKey }))
  .then(() => inActivity(() => watchTraining(services)({ jobKey })))
  .then(() => process.exit(0));
`;

/** Submits and watches a stored run in a process of its own, as a worker does; it can be killed. */
export const watchInChild = (watched: { databaseUrl: string; root: string; jobKey: string }): ChildProcess =>
  spawn(process.execPath, ['-r', path.join(projectRoot, 'test/../tools/typescript-hook.cjs'), '-e', program], {
    cwd: projectRoot,
    env: { PATH: process.env['PATH'], WATCH: JSON.stringify(watched) },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
