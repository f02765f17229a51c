import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { testOfAll } from '../support/lane';

const root = path.resolve(__dirname, '../..');
const run = promisify(execFile);
const npm = (cwd: string, ...args: string[]) => run('npm', [...args, '--silent'], { cwd, maxBuffer: 2 ** 26 });

test('the package has everything that its users need, and nothing else', async () => {
  const { stdout } = await npm(root, 'pack', '--dry-run', '--ignore-scripts', '--json');
  const [packed] = JSON.parse(stdout) as [{ files: { path: string }[] }];
  const files = packed.files.map((file) => file.path);
  expect(files).toEqual(
    expect.arrayContaining([
      'LICENSE',
      'README.md',
      'dist/bundle/version',
      'dist/cli/main.js',
      'dist/workflow-bundle.js',
      'docs/skill.md',
      'environments/src/coevolve_environments/__init__.py',
      'examples/quickstart.yaml',
      'exports/src/coevolve_exports/__main__.py',
      'migrations/0001_schema.sql',
      'requirements/export.lock',
      'requirements/product.lock',
      'scripts/setup.mjs',
      'statistics/src/coevolve_statistics/inputs.json',
      'trainer/pyproject.toml',
    ]),
  );
  const others = /^(src|test|tools|bench|docs\/(?!skill\.md))|(^|\/)tests\/|\.(map|cache|pyc)$|\.egg-info|test\.lock$/;
  expect(files.filter((file) => others.test(file))).toEqual([]);
});

testOfAll(
  'the package runs the quickstart where it is installed, and keeps its state out of node_modules',
  async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'coevolve-package-'));
    try {
      await npm(root, 'pack', '--ignore-scripts', '--pack-destination', folder);
      writeFileSync(path.join(folder, 'package.json'), '{"private":true}');
      const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as { version: string };
      await npm(folder, 'install', `./coevolve-${version}.tgz`, '--no-audit', '--no-fund');
      const env = { PATH: process.env['PATH'], HOME: folder };
      const program = path.join(folder, 'node_modules', '.bin', 'coevolve');
      const { stdout } = await run(program, ['quickstart', '--json'], { cwd: folder, env, maxBuffer: 2 ** 26 });
      const { status, report } = JSON.parse(stdout) as { status: string; report: string };
      expect({ status, report }).toEqual({
        status: 'finished',
        report: expect.stringContaining(path.join(folder, '.coevolve')),
      });
      expect(existsSync(report)).toBe(true);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
  30 * 60_000,
);
