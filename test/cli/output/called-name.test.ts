import path from 'node:path';
import { asCalled, calledName, withOwnSetup } from '../../../src/cli/output/called-name';

const clone = path.resolve(__dirname, '../../..');
const program = path.join(clone, 'dist', 'cli', 'main.js');
const called = (argument: string, env: Record<string, string>, cwd: string): string =>
  calledName({ argv: ['node', argument], env, cwd: () => cwd });

test.each([
  { label: 'npx', argument: program, env: { npm_command: 'exec' }, cwd: '/', name: 'npx coevolve' },
  { label: 'its path in the clone', argument: program, env: {}, cwd: clone, name: 'npx coevolve' },
  {
    label: 'a script of npm in the clone',
    argument: program,
    env: { npm_command: 'run-script' },
    cwd: path.join(clone, 'src'),
    name: 'npx coevolve',
  },
  {
    label: 'a link on PATH',
    argument: '/opt/bin/coevolve',
    env: { PATH: '/bin:/opt/bin' },
    cwd: clone,
    name: 'coevolve',
  },
  {
    label: 'a link outside of PATH',
    argument: '/opt/bin/coevolve',
    env: { PATH: '/bin' },
    cwd: '/',
    name: '/opt/bin/coevolve',
  },
  { label: 'its path elsewhere', argument: program, env: {}, cwd: '/', name: `node ${program}` },
])('hints name the program as it was called: $label', ({ argument, env, cwd, name }) => {
  expect(called(argument, env, cwd)).toBe(name);
});

test('a message names the commands that work here and keeps other mentions', () => {
  expect(
    asCalled('see `coevolve list`, coevolve with five tasks\n  next: coevolve up, or read a log; coevolve down'),
  ).toBe(
    'see `npx coevolve list`, coevolve with five tasks\n  next: npx coevolve up, or read a log; npx coevolve down',
  );
  expect(asCalled('`npx coevolve up` starts coevolve services')).toBe('`npx coevolve up` starts coevolve services');
});

test('the script of set-up is a command of the package from npm', () => {
  expect(withOwnSetup('run `npm run setup`\n  next: npm run setup -- --with vllm', 'npx coevolve')).toBe(
    'run `npx coevolve setup`\n  next: npx coevolve setup --with vllm',
  );
});
