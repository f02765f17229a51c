import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { z } from 'zod';
import { StackError, codeOf, messageOf } from '../errors/errors';
import type { Config } from '../config';
import { DomainError } from '../domain/errors';

/** 80 cells with 13 checkpoints of 1,000 tasks take less than a minute, also on a loaded machine. */
const timeoutMs = 10 * 60_000;
const maxOutputBytes = 256 * 2 ** 20;

/**
 * Runs `python -m coevolve_statistics` with a JSON value as its input, and returns its output.
 *
 * @throws DomainError `InvalidAnalysis` with the field, the value found and the value expected
 * @throws StackError  if the Python packages are not installed, or have another version
 */
export async function runPython<Output>(
  { python }: Pick<Config, 'python'>,
  args: readonly string[],
  input: unknown,
  schema: z.ZodType<Output>,
): Promise<Output> {
  const options = { timeout: timeoutMs, maxBuffer: maxOutputBytes };
  const running = promisify(execFile)(python, ['-m', 'coevolve_statistics', ...args], options);
  const { stdin } = running.child;
  stdin?.on('error', () => undefined); // the process exited before it read everything; its exit code says why
  stdin?.end(JSON.stringify(input));
  const { stdout } = await running.catch((error: unknown) => {
    throw failureOf(error, python);
  });
  const output = schema.safeParse(JSON.parse(stdout));
  if (output.success) return output.data;
  const [{ path, message }] = output.error.issues as [z.core.$ZodIssue];
  throw new StackError(`coevolve_statistics is another version: ${path.join('.')}: ${message}`, 'npm run setup');
}

function failureOf(error: unknown, python: string): Error {
  const stderr = typeof error === 'object' && error && 'stderr' in error ? String(error.stderr).trim() : '';
  const line = stderr.split('\n').at(-1) ?? '';
  if (stderr.startsWith('coevolve_statistics: '))
    return new DomainError('InvalidAnalysis', line.slice('coevolve_statistics: '.length));
  if (codeOf(error) === 'ENOENT' || stderr.includes('No module named'))
    return new StackError(`${python} cannot run coevolve_statistics: ${line || messageOf(error)}`, 'npm run setup');
  return new Error(`coevolve_statistics failed: ${line || messageOf(error)}`, { cause: error });
}
