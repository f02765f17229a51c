import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';

const root = path.resolve(__dirname, '../..');

/** Runs a script of this folder and returns the JSON that it prints. */
export async function runPython<T>(environment: '.venv' | '.venv-export', script: string, file: string): Promise<T> {
  const python = path.join(root, environment, 'bin', 'python');
  const options = { maxBuffer: 2 ** 26, env: { ...process.env, HF_HUB_OFFLINE: '1' } };
  const { stdout } = await promisify(execFile)(python, [path.join(__dirname, script), file], options);
  return JSON.parse(stdout) as T;
}
