import type { ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync, truncateSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { watchTraining } from '../../../src/activities/train/watch-training';
import { findProblem } from '../../../src/artifacts/verify-policy';
import { findProcess } from '../../../src/process/processes';
import { inActivity } from '../context/in-activity';
import { runProgram } from '../../support/run-program';
import type { WatchInput } from './watch-program';
import { watchedJobs, type WatchedJobs } from './watched-jobs';

let jobs: WatchedJobs;
let basePolicy: string;
beforeAll(async () => {
  jobs = await watchedJobs();
  basePolicy = await jobs.trainBase();
});
afterAll(() => jobs?.remove());

test('a trainer survives its killed worker, and after the loss of both the job ends with the weights of an uninterrupted job', async () => {
  const settings = { epochs: 30, batch_size: 10, max_length: 64, checkpoint_every: 5, log_every: 1 };
  const { services, stored, submit, database, root } = jobs;
  const changes = { basePolicy, settings };
  const jobKey = await stored('interrupted', changes);
  const folder = services.artifacts.jobPath(jobKey);
  const watch = (): ChildProcess =>
    runProgram(path.join(__dirname, 'watch-program.ts'), {
      databaseUrl: database.url,
      root,
      jobKey,
    } satisfies WatchInput);
  const reached = async (step: number): Promise<void> => {
    for (;;) {
      const status = await inActivity(() => services.training.status(jobKey));
      if (status.state === 'running' && status.step >= step) return;
      if (status.state === 'succeeded') throw new Error(`the job ended before update ${step}`);
      await sleep(20);
    }
  };

  const first = watch();
  await reached(3);
  const { pid } = findProcess(folder, 'trainer')!;
  first.kill('SIGKILL');
  await reached(8);
  expect(findProcess(folder, 'trainer')).toMatchObject({ pid }); // still the same process
  const second = watch();
  await reached(12);
  process.kill(pid, 'SIGSTOP'); // prevents that the job ends before the kill
  second.kill('SIGKILL');
  process.kill(pid, 'SIGKILL');
  for (const file of ['status.json', 'job.json', 'progress.jsonl', 'run/trainer.pid'])
    truncateSync(path.join(folder, file), 7);
  const newest = readdirSync(path.join(folder, 'checkpoints')).toSorted().at(-1)!;
  truncateSync(path.join(folder, 'checkpoints', newest, 'model.safetensors'), 100);

  await submit(jobKey);
  const results = await Promise.all([1, 2].map(() => inActivity(() => watchTraining(services)({ jobKey, epoch: 1 }))));
  const uninterrupted = await stored('uninterrupted', changes);
  await submit(uninterrupted);
  const { policyId } = await inActivity(() => watchTraining(services)({ jobKey: uninterrupted, epoch: 1 }));
  expect(results.map((result) => result.policyId)).toEqual([policyId, policyId]);
  const resumed = readFileSync(path.join(folder, 'progress.jsonl'), 'utf8').match(/"event": "resumed"/g);
  expect(resumed).toHaveLength(1);
});

test('a policy that was damaged after its job ended is not stored but trained again', async () => {
  const { services, stored, submit } = jobs;
  const jobKey = await stored('damaged', { basePolicy, settings: { epochs: 1, batch_size: 10, max_length: 64 } });
  await submit(jobKey);
  for (;;) {
    const { state } = await inActivity(() => services.training.status(jobKey));
    if (state === 'succeeded') break;
    await sleep(50);
  }
  truncateSync(path.join(services.artifacts.jobPath(jobKey), 'policy', 'model.safetensors'), 1000);
  const { policyId } = await inActivity(() => watchTraining(services)({ jobKey, epoch: 1 }));
  await expect(findProblem(services.artifacts.policyPath(policyId), policyId)).resolves.toBeUndefined();
});
