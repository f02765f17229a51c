import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Config } from '../../../src/config';
import { deriveSeed } from '../../../src/domain/random/seed-tree';
import { environmentConfig, startEnvironmentServer, type EnvironmentServer } from '../../support/environment-server';
import { runCli } from '../../support/stack';

let home: string;
let config: Config;
let server: EnvironmentServer;
beforeAll(async () => {
  home = mkdtempSync(path.join(tmpdir(), 'coevolve-cli-experts-'));
  server = await startEnvironmentServer('--environments', 'bfcl,intercode-sql', '--state', path.join(home, 'state'));
  config = environmentConfig(server, home);
});
afterAll(async () => {
  await server.kill();
  rmSync(home, { recursive: true, force: true });
});

const cli = (...args: string[]) => runCli(config, ['experts', ...args]);

test('show prints lengths and rewards of experts as text and as JSON', async () => {
  const { stdout } = await cli('show', 'bfcl', '--count', '12', '--options', '{"split": "agentevolver"}');
  expect(stdout).toMatch(
    /^pattern +tasks +turns min +mean +max +characters mean +max +reward mean +successes\nall +12 /,
  );
  const shown = await cli('show', 'bfcl', '--count', '12', '--options', '{"split": "agentevolver"}', '--json');
  const { table } = JSON.parse(shown.stdout) as { table: { pattern: string; tasks: number; rewardMean: number }[] };
  expect(table.map(({ pattern, tasks, rewardMean }) => [pattern, tasks, rewardMean])).toEqual([
    ['all', 12, 1],
    ['base', 12, 1],
  ]);
});

test("an export in ETO's format is replayed and imported with a hash for specs", async () => {
  const file = path.join(home, 'experts.jsonl');
  const written = await cli('export', 'intercode-sql', file, '--format', 'eto', '--form', 'react', '--count', '15');
  expect(written).toMatchObject({ code: 0, stdout: `15 trajectories: ${file}\n` });
  const rows = readFileSync(file, 'utf8').trimEnd().split('\n');
  expect(JSON.parse(rows[0]!)).toMatchObject({ reward: 1, conversations: expect.any(Array) });
  writeFileSync(file, [...rows, rows[0]!.replaceAll('SELECT', 'SELEKT').replace('"id":"', '"id":"no-')].join('\n'));

  const imported = await cli('import', file, '--environment', 'intercode-sql', '--count', '15');
  expect(imported.stdout).toContain('mean reward of the replays: 1');
  const again = await cli('import', file, '--environment', 'intercode-sql', '--count', '15', '--json');
  const result = JSON.parse(again.stdout) as { sha256: string; imported: number; refused: unknown[]; path: string };
  expect(result).toMatchObject({ imported: 15, refused: [{ reason: expect.stringContaining('no train task') }] });
  expect(imported.stderr).toContain(result.sha256);
  expect(readFileSync(result.path, 'utf8').trimEnd().split('\n')).toHaveLength(15);
});

test('an import for a spec uses the train tasks of its campaign', async () => {
  const spec = path.join(home, 'spec.yaml');
  writeFileSync(spec, 'name: x\nseed: 7\nrecipe: sft\nenvironment: { name: intercode-sql, trainTasks: 12 }\n');
  const seed = String(deriveSeed(7, 'tasks'));
  const file = path.join(home, 'of-spec.jsonl');
  await cli('export', 'intercode-sql', file, '--format', 'sharegpt', '--count', '14', '--seed', seed);
  const { stdout } = await cli('import', file, '--spec', spec, '--format', 'sharegpt', '--json');
  expect(JSON.parse(stdout)).toMatchObject({ environment: 'intercode-sql', imported: 12, refused: [{}, {}] });
});

test('without a replay the output states that the rewards come from the file', async () => {
  const file = path.join(home, 'rewards.json');
  const turns = [
    { from: 'human', value: 'Buy it.' },
    { from: 'gpt', value: 'Action: buy' },
  ];
  writeFileSync(file, JSON.stringify([{ id: 'shop-1', conversations: turns, reward: 0.9 }]));
  const { code, stdout } = await cli('import', file, '--environment', 'webshop', '--no-replay');
  expect(code).toBe(0);
  expect(stdout).toContain('not replayed: the rewards above are those of the file');
});

test.each([
  [['show', 'nowhere'], /nowhere/],
  [['show', 'bfcl', '--options', '{"split": "official"}'], /official/],
])('%j is rejected with the unknown name', async (args, message) => {
  const { code, stdout, stderr } = await cli(...args);
  expect({ code, stdout }).toEqual({ code: 4, stdout: '' });
  expect(stderr).toMatch(message);
});
