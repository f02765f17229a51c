import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import path from 'node:path';

const projectRoot = path.resolve(__dirname, '../..');
const hook = path.join(projectRoot, 'tools/typescript-hook.cjs');

/**
 * Runs a TypeScript program in a separate process, which a test can kill.
 *
 * @param program absolute path
 * @param input   JSON that the program reads with `programInput`
 */
export const runProgram = (program: string, input: unknown, options: SpawnOptions = {}): ChildProcess =>
  spawn(process.execPath, ['-r', hook, program], {
    cwd: projectRoot,
    stdio: ['ignore', 'ignore', 'inherit'],
    ...options,
    env: { PATH: process.env['PATH'], ...options.env, PROGRAM_INPUT: JSON.stringify(input) },
  });

export const programInput = (): unknown => JSON.parse(process.env['PROGRAM_INPUT']!);
