import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { DeterminismViolationError } from '@temporalio/workflow';
import { Worker } from '@temporalio/worker';
import { payloadLimitBytes } from '../../src/temporal/payload-limit';
import { dataConverterOf } from '../../src/temporal/connect';
import { payloadsOf } from '../support/histories';
import { bundleOf, silenceWorkers, type Bundle } from '../support/temporal';

const dataConverter = dataConverterOf({});
const folder = path.resolve(__dirname, '../histories');
const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.json'));
const textOf = (file: string): string => readFileSync(path.join(folder, file), 'utf8');

let bundle: Bundle;
beforeAll(async () => {
  await silenceWorkers();
  bundle = await bundleOf();
});

test('there is a history of every workflow', () => {
  const started = files.map((file) => JSON.parse(textOf(file)).events[0].workflowExecutionStartedEventAttributes);
  const types = new Set<string>(started.map(({ workflowType }) => workflowType.name));
  expect(types).toEqual(new Set(['campaign', 'experiment', 'explore', 'iteration', 'rollout', 'train']));
});

test.each(files)('%s replays', async (file) => {
  const history: unknown = JSON.parse(textOf(file));
  await Worker.runReplayHistory({ workflowBundle: bundle, dataConverter }, history);
});

test.each(files)('%s contains no data of the machine where it was recorded', (file) => {
  const texts = payloadsOf(JSON.parse(textOf(file), revivePayload).events).map((data) => Buffer.from(data).toString());
  expect(texts.length).toBeGreaterThan(0);
  expect(Math.max(...texts.map(({ length }) => length))).toBeLessThan(payloadLimitBytes);
  expect(
    [textOf(file), ...texts].filter((text) => /"identity":"(?!recorded)|\/(home|root|tmp|work|Users)\//.test(text)),
  ).toEqual([]);
});

/** JSON encodes the bytes of a payload as base64. */
const revivePayload = (key: string, value: unknown): unknown =>
  key === 'data' && typeof value === 'string' ? new Uint8Array(Buffer.from(value, 'base64')) : value;

test('the replay detects a workflow with an incompatible change', async () => {
  const changed = await bundleOf(require.resolve('./changed-workflows'));
  const file = files.find((name) => path.basename(name).startsWith('iteration'))!;
  const replay = Worker.runReplayHistory({ workflowBundle: changed, dataConverter }, JSON.parse(textOf(file)));
  await expect(replay).rejects.toThrow(DeterminismViolationError);
});
