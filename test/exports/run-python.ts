import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';

const root = path.resolve(__dirname, '../..');

type Environment = '.venv' | '.venv-export' | '.venv-trackers';

/** Runs a script of this folder and returns the JSON that it prints. */
export async function runPython<T>(environment: Environment, script: string, ...args: string[]): Promise<T> {
  const python = path.join(root, environment, 'bin', 'python');
  const options = { maxBuffer: 2 ** 26, env: { ...process.env, HF_HUB_OFFLINE: '1' } };
  const { stdout } = await promisify(execFile)(python, [path.join(__dirname, script), ...args], options);
  return JSON.parse(stdout) as T;
}
