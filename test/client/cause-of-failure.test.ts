import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { encodeErrorToFailure, loadDataConverter } from '@temporalio/common/lib/internal-non-workflow';
import { causeOf } from '../../src/client/failing-task';
import type { Connections } from '../../src/client/connections';
import { dataConverterOf } from '../../src/temporal/connect';

const folder = mkdtempSync(path.join(tmpdir(), 'coevolve-cause-'));
afterAll(() => rmSync(folder, { recursive: true }));
writeFileSync(path.join(folder, 'key'), randomBytes(32).toString('base64'));
writeFileSync(path.join(folder, 'keys.yaml'), JSON.stringify({ current: 'one', keys: { one: { file: 'key' } } }));

test.each([
  ['plain', {}],
  ['encrypted', { payloadKeysFile: path.join(folder, 'keys.yaml') }],
])('the cause of a failure is the first line of its message, in %s histories', async (kind, config) => {
  const loadedDataConverter = loadDataConverter(dataConverterOf(config));
  const connections = { temporal: () => Promise.resolve({ options: { loadedDataConverter } }) };
  const failure = await encodeErrorToFailure(
    loadedDataConverter,
    new Error(`connection refused\nby ${'x'.repeat(600)}`),
  );
  expect(failure.message?.includes('connection')).toBe(kind === 'plain');
  expect(await causeOf(connections as unknown as Connections, failure)).toBe('connection refused');
  expect(await causeOf(connections as unknown as Connections, null)).toBeNull();
});
