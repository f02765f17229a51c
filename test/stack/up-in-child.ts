import { spawn, type ChildProcess } from 'node:child_process';
import path from 'node:path';
import { variablesOf, type Config } from '../../src/config';

const program = `
const { readConfig } = require('./src/config.ts');
const { stackUp, stackStatus } = require('./src/stack/index.ts');
const tell = (line) => process.stdout.write(line + '\\n');
stackUp(readConfig(), { services: process.env.SERVICES.split(','), onProgress: tell }).then(
  () => tell('status ' + JSON.stringify(stackStatus(readConfig()))),
  (error) => { process.stderr.write(String(error)); process.exitCode = 1; },
);
`;

/** `stackUp` of those services in a process of its own, which prints its progress and at the end `status <JSON>`. */
export function upInChild(config: Config, services: string[], user: { uid?: number; gid?: number } = {}): ChildProcess {
  return spawn(process.execPath, ['-r', path.join(__dirname, '../../tools/typescript-hook.cjs'), '-e', program], {
    cwd: config.projectRoot,
    env: { PATH: config.searchPath, ...variablesOf(config), SERVICES: services.join(',') },
    stdio: ['ignore', 'pipe', 'inherit'],
    ...user,
  });
}

/** All that it prints, once it has ended. */
export async function outputOf(child: ChildProcess): Promise<string> {
  let output = '';
  child.stdout?.on('data', (text) => (output += text));
  await new Promise((resolve) => child.once('close', resolve));
  return output;
}
